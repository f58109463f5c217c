# SPDX-License-Identifier: Apache-2.0
"""The tools under test: the same job as a command line of each."""
from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

RATE = 30
GOP_SECONDS = 2
KILOBITS = 2000
AUDIO_KILOBITS = 128
SAMPLE_RATE = 48_000
SAMPLES = 1024
"""In each packet of AAC."""
SEGMENT_SECONDS = 10


@dataclass
class Job:
    """What a contestant has to do."""

    clip: Path
    recording: Path
    rtmp: list[str]
    srt: list[tuple[int, int]]
    """Ports, each with its latency in milliseconds."""
    relay: Path
    authority: str
    """The certificate that an rtmps target is to be trusted by."""


ENCODER = ["--preset", "superfast", "--video-bitrate", f"{KILOBITS}k", "--gop", f"{GOP_SECONDS}s", "--audio-bitrate",
           f"{AUDIO_KILOBITS}k"]
"""What relay is to encode."""


def recording_flags(recording: Path) -> list[str]:
    """How relay is to record, and to log."""
    return ["--record", str(recording), "--segment", f"{SEGMENT_SECONDS}s", "--disk-reserve", "50MB", "--expect", "60s",
            "--no-status", "--log-format", "json"]


def relay(job: Job) -> list[str]:
    outputs = []
    for url in job.rtmp:
        is_secure = url.startswith("rtmps:")
        outputs += ["--output", f"{url}#name=secure,tls-ca={job.authority}"] if is_secure else ["--rtmp", url]
    outputs += [word for port, latency in job.srt for word in ("--srt", f"srt://127.0.0.1:{port}?latency={latency}")]
    return [str(job.relay), "--input", str(job.clip), *ENCODER, *recording_flags(job.recording), *outputs]


def ffmpeg_tee(job: Job, options: str) -> list[str]:
    gop = RATE * GOP_SECONDS
    slaves = [f"[f=flv:onfail=ignore{options}]{url}" for url in job.rtmp]
    slaves += [f"[f=mpegts:onfail=ignore{options}]srt://127.0.0.1:{port}?latency={latency * 1000}"
               for port, latency in job.srt]
    slaves.append(f"[f=segment:segment_time={SEGMENT_SECONDS}:segment_format=mp4:reset_timestamps=1]"
                  f"{job.recording}/%05d.mp4")
    return ["ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "warning", "-re", "-i", str(job.clip), "-map", "0:v",
            "-map", "0:a", "-c:v", "libx264", "-preset", "superfast", "-b:v", f"{KILOBITS}k", "-maxrate",
            f"{KILOBITS}k", "-bufsize", f"{2 * KILOBITS}k", "-g", str(gop), "-bf", "2", "-c:a", "aac", "-b:a",
            f"{AUDIO_KILOBITS}k", "-flags", "+global_header", "-f", "tee", "|".join(slaves)]


def ffmpeg(job: Job) -> list[str]:
    return ffmpeg_tee(job, "")


# What its documentation recommends for a live target that may go away. The colon passes two levels of unescaping.
FIFO = ":use_fifo=1:fifo_options=" + r"\\:".join([
    "queue_size=120", "drop_pkts_on_overflow=1", "attempt_recovery=1", "recovery_wait_time=1",
    "recover_any_error=1", "restart_with_keyframe=1", "max_recovery_attempts=0"])


def ffmpeg_fifo(job: Job) -> list[str]:
    return ffmpeg_tee(job, FIFO)


def gst(job: Job) -> list[str]:
    leaky = "queue leaky=downstream max-size-time=2000000000 max-size-bytes=0 max-size-buffers=0"
    parts = [
        f"filesrc location={job.clip} ! qtdemux name=d d.video_0 ! queue ! h264parse ! avdec_h264 ! clocksync ! "
        f"x264enc speed-preset=superfast bitrate={KILOBITS} key-int-max={RATE * GOP_SECONDS} bframes=2 ! "
        "video/x-h264,profile=high ! h264parse ! video/x-h264,stream-format=avc,alignment=au ! tee name=v",
        "d.audio_0 ! queue ! aacparse ! avdec_aac ! audioconvert ! clocksync ! "
        f"avenc_aac bitrate={AUDIO_KILOBITS}000 ! aacparse ! "
        "tee name=a",
        "flvmux name=f streamable=true ! tee name=t v. ! queue ! f.video a. ! queue ! f.audio"]
    parts += [f"t. ! {leaky} ! rtmp2sink sync=false async=false location={url}" for url in job.rtmp]
    parts += [f"mpegtsmux name=ts{port} alignment=7 ! {leaky} ! srtsink sync=false async=false "
              f"wait-for-connection=false uri=srt://127.0.0.1:{port}?latency={latency} "
              f"v. ! queue ! h264parse ! ts{port}. a. ! queue ! ts{port}." for port, latency in job.srt]
    parts.append(f"splitmuxsink name=rec location={job.recording}/%05d.mp4 "
                 f"max-size-time={SEGMENT_SECONDS * 1_000_000_000} v. ! queue ! rec.video a. ! queue ! rec.audio_0")
    return ["gst-launch-1.0", "-e", *shlex.split(" ".join(parts))]


ALL = {"relay": relay, "ffmpeg": ffmpeg, "ffmpeg-fifo": ffmpeg_fifo, "gst": gst}
TITLES = {"relay": "relay", "ffmpeg": "ffmpeg tee", "ffmpeg-fifo": "ffmpeg tee, fifo", "gst": "GStreamer tee"}
