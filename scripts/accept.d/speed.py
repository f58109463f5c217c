# SPDX-License-Identifier: Apache-2.0
"""What relay stitch costs on large files, and what its result is worth to others; started by the script `stitch-speed`
beside this file."""

import argparse
import json
import os
import statistics
import subprocess

from decoded import COMMAND, ffmpeg, hashes
from devtools import Browser, Failed
from load import check, conclude, tell

RATE, GOP = 30, 60
# So many seconds are whole packets of AAC and whole GOPs; so often they are repeated.
SECONDS, TIMES = 64, 28
LENGTH = SECONDS * TIMES
# Of ffmpeg's CPU time, and how many times as fast as it plays.
MOST_OF_FFMPEG, LEAST_SPEED = 0.5, 500
# What of a file is rendered, in frames: neither lies at a keyframe.
FIRST, LAST = 315, 1221
# Frames at an end that may be coded again: those that refer to one behind it.
TAIL = 3
SEEKS = 9


def cpu(*command, output=None):
    """The CPU time of a command, in seconds."""
    with open(output or os.devnull, "wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def make(home, name, hue, tone):
    """A file of half an hour, most of whose video is repeated."""
    path, short = f"{home}/{name}.mp4", f"{home}/{name}-short.mp4"
    source = f"testsrc2=s=1920x1080:r={RATE},hue=h={hue},noise=alls=12:allf=t"
    ffmpeg(
        "-f", "lavfi", "-i", source, "-t", str(SECONDS), "-c:v", "libx264", "-preset", "veryfast",
        "-pix_fmt", "yuv420p", "-g", str(GOP), "-keyint_min", str(GOP), "-sc_threshold", "0", "-bf", "2",
        "-b:v", "6M", "-maxrate", "6M", "-bufsize", "6M", short,
    )
    audio = f"sine=f={tone}:r=48000,aformat=channel_layouts=stereo"
    ffmpeg(
        "-stream_loop", str(TIMES - 1), "-i", short, "-f", "lavfi", "-i", audio,
        "-t", str(LENGTH), "-map", "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", "aac", "-b:a", "160k", path,
    )
    os.remove(short)
    return path


class Speed:
    def __init__(self, options):
        self.options, self.home = options, options.home
        self.files = [make(self.home, "a", 0, 440), make(self.home, "b", 90, 523)]
        size = sum(os.path.getsize(path) for path in self.files)
        tell(f"two files of {LENGTH} s, {size / 1e9:.2f} GB together")

    def stitch(self, output, *clips):
        """The CPU time of relay, and what it says it did."""
        text = f"{self.home}/report.json"
        command = [self.options.relay, "stitch", *clips, "-o", output, "--audio", "copy", "--json", "--overwrite"]
        seconds = cpu(*command, "--disk-reserve", "1MiB", output=text)
        with open(text, encoding="utf-8") as file:
            return seconds, json.load(file)

    def concatenate(self):
        """The CPU time of ffmpeg, of cat and of relay, one after the other."""
        output, listed = f"{self.home}/out.mp4", f"{self.home}/list.txt"
        with open(listed, "w", encoding="utf-8") as file:
            file.writelines(f"file '{path}'\n" for path in self.files)
        costs = {}
        costs["ffmpeg"] = cpu(*COMMAND, "-f", "concat", "-safe", "0", "-i", listed, "-c", "copy", output)
        os.remove(output)
        costs["cat"] = cpu("cat", *self.files, output=output)
        os.remove(output)
        costs["relay"], report = self.stitch(output, *self.files)
        os.remove(output)
        copied, encoded = report["copied_frames"], report["encoded_frames"]
        check(encoded == 0, f"{copied} frames copied, {encoded} coded again")
        return costs

    def judge_speed(self):
        runs = [self.concatenate() for _ in range(self.options.runs)]
        costs = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        for name in costs:
            tell(f"{name}: {costs[name]:.2f} s of CPU ({', '.join(f'{run[name]:.2f}' for run in runs)})")
        part = costs["relay"] / costs["ffmpeg"]
        check(part <= MOST_OF_FFMPEG, f"relay takes {part:.2f} of ffmpeg's CPU time; at most {MOST_OF_FFMPEG}")
        output = f"{self.home}/out.mp4"
        one, other = self.files
        seconds, report = self.stitch(output, f"{one}#to=25m", f"{other}#from=1m")
        os.remove(output)
        speed = report["milliseconds"] / 1000 / seconds
        check(report["encoded_frames"] == 0, "cut at keyframes nothing is coded again")
        text = f"with audio that is faded {speed:.0f} times as fast as it plays; at least {LEAST_SPEED}"
        check(speed >= LEAST_SPEED, text)

    def judge_render(self):
        output = f"{self.home}/rendered.mp4"
        clips = [f"{path}#from={FIRST / RATE:.4f},to={LAST / RATE:.4f}" for path in self.files]
        _, report = self.stitch(output, *clips)
        head = -FIRST % GOP
        most = len(clips) * (head + TAIL)
        check(report["encoded_frames"] <= most, f"{report['encoded_frames']} frames coded again; at most {most}")
        found = hashes(ffmpeg("-i", output, "-map", "0:v:0", "-vsync", "passthrough", "-f", "framemd5", "-"))
        count = LAST - FIRST
        check(len(found) == len(clips) * count, f"{len(found)} frames, {len(clips) * count} wanted")
        same = 0
        for clip, path in enumerate(self.files):
            text = ffmpeg(
                "-i", path, "-map", "0:v:0", "-frames:v", str(LAST), "-vsync", "passthrough", "-f", "framemd5", "-"
            )
            pairs = zip(hashes(text)[FIRST:LAST], found[clip * count :], strict=False)
            same += sum(own == other for own, other in pairs)
        check(same >= report["copied_frames"], f"{same} frames bit by bit, {report['copied_frames']} copied")
        self.judge_players(output, len(found))

    def judge_players(self, path, count):
        errors = subprocess.run(
            [*COMMAND, "-i", path, "-f", "null", "-"], stderr=subprocess.PIPE, text=True, check=False
        ).stderr
        check(not errors, f"ffmpeg plays it {errors[:200]}")
        for decoder in ("avdec_h264", "openh264dec"):
            # 256 bytes for each frame.
            small = f"{self.home}/small"
            pipeline = f"filesrc location={path} ! qtdemux ! h264parse ! {decoder} ! videoconvert ! videoscale"
            pipeline += f" ! video/x-raw,format=GRAY8,width=16,height=16 ! filesink location={small}"
            result = subprocess.run(["gst-launch-1.0", "-q", *pipeline.split()], check=False, stdin=subprocess.DEVNULL)
            frames = os.path.getsize(small) // 256 if os.path.exists(small) else 0
            check(result.returncode == 0 and frames == count, f"GStreamer's {decoder} shows {frames} frames of {count}")
        self.judge_browser(path)

    def judge_browser(self, path):
        page = f"{self.home}/page.html"
        with open(page, "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><video muted src="{os.path.basename(path)}"></video>')
        browser = Browser()
        try:
            browser.open(f"file://{page}")
            ready = browser.wait("document.querySelector('video')?.readyState >= 2", 30)
            check(ready is not None, "Chromium opens it")
            for number in range(1, SEEKS + 1):
                browser.evaluate(
                    "new Promise((done, fail) => { const v = document.querySelector('video');"
                    " v.onseeked = () => done(true); v.onerror = () => fail(v.error.message);"
                    f" v.currentTime = v.duration * {number} / {SEEKS + 1}; }})"
                )
            check(True, f"Chromium seeks {SEEKS} times")
            browser.evaluate("(() => { const v = document.querySelector('video'); v.currentTime = 0; v.play(); })()")
            ended = browser.wait("(v => v.ended || v.error !== null)(document.querySelector('video'))", 240, 0.5)
            error = browser.evaluate("document.querySelector('video').error?.message ?? ''")
            check(ended is not None and not error, f"Chromium plays it to its end {error}")
        except Failed as failure:
            check(False, f"Chromium: {failure}")
        finally:
            browser.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--relay", required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--runs", type=int, default=3)
    speed = Speed(parser.parse_args())
    speed.judge_speed()
    speed.judge_render()


if __name__ == "__main__":
    conclude(main, "stitch")
