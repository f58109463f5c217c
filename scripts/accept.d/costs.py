# SPDX-License-Identifier: Apache-2.0
"""What a program of several sources takes of the processor, and how fast one is rendered; parts of `sources`, beside this
file."""

import os
import re
import statistics
import subprocess
import time

from arrivals import Publication
from asking import PREVIEW, PROGRAM, ask, free_port, free_ports
from decoded import COMMAND, ffmpeg, frame_times
from load import check, tell

RATE, SAMPLES = 30, 48_000
# Seconds between the keyframes of what is measured.
GOP = 2
# Times as fast as it plays.
LEAST_SPEED = 3
# What a render must reach of FFmpeg's speed for the same work, where the machine is too slow for the bound above.
LEAST_SHARE = 0.9


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Costs:
    """What relay takes of the processor with `inputs`, of which `scene` is shown: CPU seconds a minute."""

    def __init__(self, options, inputs, seconds, scene=None, senders=()):
        self.sink, port = Publication(), free_ports(1)[0]
        self.srt = subprocess.Popen(
            ["srt-live-transmit", "-q", f"srt://127.0.0.1:{port}?mode=listener", "file://con"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )
        self.port = free_port()
        command = [options.relay]
        for source in inputs:
            command += ["--input", source]
        if not senders:
            command.append("--loop")
        command += ["--size", "1280x720", "--fps", str(RATE), "--preset", "veryfast", "--video-bitrate", "2500k"]
        command += ["--rtmp", f"rtmp://127.0.0.1:{self.sink.port}/live/key", "--srt", f"srt://127.0.0.1:{port}"]
        command += ["--record", f"{options.home}/costs-{len(inputs)}-{time.monotonic_ns()}", "--no-status"]
        command += ["--http", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        senders = [subprocess.Popen(sender, stdin=subprocess.DEVNULL) for sender in senders]
        try:
            time.sleep(4)
            if scene:
                ask(self.port, "PUT", PROGRAM, {"scene": scene})
                # What is in the preview is kept ready as what is shown.
                ask(self.port, "PUT", PREVIEW, {"scene": scene})
            # A source may be closed a little after it was shown.
            time.sleep(8 if senders else 2)
            cpu, coder, begin = cpu_of(self.process.pid), self.encoder, time.monotonic()
            time.sleep(seconds)
            minutes = (time.monotonic() - begin) / 60
            self.all = (cpu_of(self.process.pid) - cpu) / minutes
            self.coding = (self.encoder - coder) / minutes
        finally:
            self.process.terminate()
            self.process.wait(timeout=20)
            for sender in [self.srt, *senders]:
                sender.kill()
                sender.wait()

    @property
    def encoder(self):
        """CPU seconds of the encoder's own threads."""
        found = re.search(r'^relay_encoder_cpu_seconds_total\{.*part="threads"\} (\S+)$', ask(self.port, "GET", "/metrics"), re.M)
        return float(found.group(1))

    @property
    def beside(self):
        return self.all - self.coding


def make_files(options, length):
    """Two files at 720p."""
    files = []
    for index, pattern in enumerate(("testsrc2", "mandelbrot")):
        files.append(f"{options.home}/cost-{index}.mp4")
        ffmpeg(
            "-f", "lavfi", "-i", f"{pattern}=size=1280x720:rate={RATE},format=yuv420p", "-f", "lavfi", "-i",
            f"sine={300 + 100 * index}:sample_rate={SAMPLES}", "-t", str(length), "-c:v", "libx264", "-preset", "veryfast",
            "-b:v", "4M", "-g", str(GOP * RATE), "-c:a", "aac", "-ac", "2", files[-1],
        )
    return files


def decoding(path, seconds):
    """CPU seconds that ffmpeg takes to decode a minute of a file."""
    before = os.times()
    ffmpeg("-threads", "2", "-i", path, "-f", "null", "-")
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) * 60 / seconds


def cost_part(options):
    length = 30
    files = make_files(options, length)
    inputs = [f"{path}#name=file{index + 1}" for index, path in enumerate(files)]
    decoder, one, two = [], [], []
    for _ in range(options.runs):
        decoder.append(decoding(files[1], length))
        one.append(Costs(options, inputs[:1], length))
        two.append(Costs(options, inputs, length, {"layout": "pip", "sources": ["file1", "file2"]}))
        tell(
            f"CPU seconds a minute: decoding the second file {decoder[-1]:.2f}; one file {one[-1].all:.2f}, of which encoding "
            f"{one[-1].coding:.2f}; both {two[-1].all:.2f}, encoding {two[-1].coding:.2f}"
        )
    cost = statistics.median(decoder)
    more = statistics.median(run.beside for run in two) - statistics.median(run.beside for run in one) - cost
    check(
        more <= 0.5 * cost,
        f"a second file in the first costs {more:.2f} CPU seconds a minute beside decoding it and beside encoding: "
        f"{more / cost:.2f} of decoding it (bound 0.5)",
    )


def standby_part(options):
    """What a second live source takes that is not shown."""
    length = 30
    files = make_files(options, length)
    kinds = ("hot", "keyframes", "cold")
    costs = {kind: [] for kind in kinds}
    for _ in range(options.runs):
        ports = free_ports(2)
        senders = [
            [*COMMAND[:-1], "-re", "-stream_loop", "-1", "-i", path, "-c", "copy", "-f", "mpegts",
             f"udp://127.0.0.1:{port}?pkt_size=1316"]
            for path, port in zip(files, ports)
        ]
        inputs = [f"udp://127.0.0.1:{port}#name=cam{index + 1}" for index, port in enumerate(ports)]
        alone = Costs(options, inputs[:1], length, senders=senders).beside
        for kind in kinds:
            both = [inputs[0], f"{inputs[1]},standby={kind}"]
            costs[kind].append(Costs(options, both, length, {"layout": "single", "sources": ["cam1"]}, senders).beside - alone)
        tell("CPU seconds a minute: " + ", ".join(f"{kind} {costs[kind][-1]:.2f}" for kind in kinds))
    middle = {kind: statistics.median(costs[kind]) for kind in kinds}
    text = ", ".join(f"standby={kind} {middle[kind]:.2f} CPU seconds a minute" for kind in kinds)
    check(middle["hot"] > 2 * middle["keyframes"] > 0, f"a live source of 720p{RATE} that is not shown: {text}")
    check(middle["cold"] < 0.2 * middle["hot"], "and one that is closed takes next to nothing")


def floor_speed(files, length, output):
    """How many times as fast as it plays ffmpeg decodes both files, lays one over the other and encodes the result."""
    begin = time.monotonic()
    ffmpeg(
        "-y", "-i", files[0], "-i", files[1], "-filter_complex",
        "[1:v]scale=320:180[small];[0:v][small]overlay=900:500:eof_action=endall[out];[0:a][1:a]amix[sound]",
        "-map", "[out]", "-map", "[sound]", "-c:v", "libx264", "-preset", "veryfast", "-c:a", "aac", "-t", str(length), output,
    )
    os.remove(output)
    return length / (time.monotonic() - begin)


def render_part(options):
    """How fast a run-down of two files is rendered, beside ffmpeg with the same files in the same run."""
    length = 60
    files = make_files(options, length)
    show, result = f"{options.home}/show.yaml", f"{options.home}/show.mp4"
    steps = ["{scene: {layout: pip, sources: [cam1, cam2]}, transition: fade}", "{source: cam2, transition: flip}"]
    steps += ["{scene: {layout: split-horizontal, sources: [cam1, cam2]}, transition: move}", "{source: cam1, transition: cut}"]
    with open(show, "w", encoding="utf-8") as file:
        file.write("segments:\n")
        for index in range(12):
            file.write(f"  - {steps[index % len(steps)][:-1]}, duration: 5s}}\n")
    command = [options.relay, "render", show, "-o", result, "--preset", "veryfast"]
    for index, path in enumerate(files):
        command += ["--input", f"{path}#name=cam{index + 1}"]
    speeds, floors = [], []
    for _ in range(options.runs):
        floors.append(floor_speed(files, length, f"{options.home}/floor.mp4"))
        begin = time.monotonic()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        speeds.append(length / (time.monotonic() - begin))
        frames = len(frame_times(result))
        check(frames == length * RATE, f"{frames} frames of {length * RATE} are rendered, {speeds[-1]:.2f} times as fast as they play")
        os.remove(result)
    speed, floor = statistics.median(speeds), statistics.median(floors)
    bound = min(LEAST_SPEED, LEAST_SHARE * floor)
    check(
        speed >= bound,
        f"720p{RATE}, veryfast: {speed:.2f} times as fast as it plays; ffmpeg decodes, overlays and encodes {floor:.2f} times "
        f"as fast here (bound {bound:.2f}: {LEAST_SPEED}, or {LEAST_SHARE} of ffmpeg on a slower machine)",
    )
