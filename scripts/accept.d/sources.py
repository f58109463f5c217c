# SPDX-License-Identifier: Apache-2.0
"""A program of several live sources, switched while it is on air; started by the script `sources` beside this file."""

import argparse
import collections
import http.client
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from operator import mul

import costs
from asking import PROGRAM, Refused, ask, free_port, free_ports
from decoded import COMMAND, audio_of, code, ffmpeg, frame_times, number
from load import check, conclude, tell
from splash import AROUND, splash

RATE, SAMPLES = 30, 48_000
STEP = SAMPLES // RATE
WIDTH, HEIGHT = 320, 180
# Columns and rows of the number's cells, and the edge of one.
COLUMNS, ROWS, CELL = 20, 2, 16
# A source's number is above its frames'.
SHIFT = 24
# dB of full scale.
MOST_SPLASH = -60
# Seconds that a sender stands still.
STALL = 6
# The other camera's clock.
FAST = 200e-6
# By how much the right channel's tone is higher than the left one's.
APART = 170
# A pulse once a second: samples, and a frequency that no tone of a source has.
PULSE, PULSE_HERTZ = 96, 3000
# Milliseconds.
MOST_OFFSET = 2


def frame(source, index):
    """A frame that has its source and its number in the cells where relay's test signal has its own."""
    bits = code(source << SHIFT | index)
    rows = [
        b"".join((b"\xeb" if bit == "1" else b"\x10") * CELL for bit in bits[row * COLUMNS : (row + 1) * COLUMNS]) * CELL
        for row in range(ROWS)
    ]
    # Something that moves, and is not the same in two sources.
    bar = (index * 4 + source * 64) % WIDTH
    line = bytearray([70 + 40 * source]) * WIDTH
    line[bar : bar + 16] = bytes([200]) * len(line[bar : bar + 16])
    chroma = WIDTH * HEIGHT // 4
    above = bytes(line) * (HEIGHT - ROWS * CELL)
    return above + b"".join(rows) + bytes([100 + 12 * source]) * chroma + bytes([150 - 12 * source]) * chroma


class Camera:
    """A file of numbered frames and steady tones that is sent as a camera would send it."""

    def __init__(self, home, source, rate, seconds, tone, pulses=False):
        self.source, self.rate, self.path = source, rate, f"{home}/camera-{source}.mkv"
        # Of the two channels.
        self.tones = tone, tone + APART
        channels = [f"0.25*sin(2*PI*{hertz}*t)" for hertz in self.tones]
        if pulses:
            since = "mod(t,1)"
            length = PULSE / SAMPLES
            pulse = f"0.4*sin(2*PI*{PULSE_HERTZ}*{since})*pow(sin(PI*{since}/{length}),2)*lt({since},{length})"
            channels = [pulse, pulse]
        command = [*COMMAND, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", f"{WIDTH}x{HEIGHT}"]
        command += ["-framerate", rate, "-i", "-", "-f", "lavfi", "-i", f"aevalsrc='{'|'.join(channels)}':s={SAMPLES}:d={seconds}"]
        command += ["-c:v", "libx264", "-preset", "ultrafast", "-g", "15", "-crf", "20", "-c:a", "aac", "-b:a", "256k"]
        self.process, self.count = None, round(seconds * self.frames_a_second)
        coder = subprocess.Popen([*command, self.path], stdin=subprocess.PIPE)
        for index in range(self.count):
            coder.stdin.write(frame(source, index))
        coder.stdin.close()
        if coder.wait():
            raise SystemExit(f"FAILED  {self.path} cannot be made")

    @property
    def frames_a_second(self):
        top, _, bottom = self.rate.partition("/")
        return int(top) / int(bottom or 1)

    def send(self, port, pace=1.0):
        command = [*COMMAND[:-1], "-readrate", f"{pace:.6f}", "-i", self.path, "-c", "copy", "-f", "mpegts"]
        self.process = subprocess.Popen([*command, f"udp://127.0.0.1:{port}?pkt_size=1316"], stdin=subprocess.DEVNULL)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        if self.process:
            self.process.wait()


class Show:
    """relay with cameras."""

    def __init__(self, options, name, cameras, *flags, size=(WIDTH, HEIGHT), paces=None):
        self.name, self.cameras, self.size = name, cameras, size
        self.recordings, self.home = f"{options.home}/{name}", options.home
        self.port = free_port()
        ports = free_ports(len(cameras))
        command = [options.relay]
        for index, port in enumerate(ports):
            command += ["--input", f"udp://127.0.0.1:{port}#name=cam{index + 1}"]
        command += ["--size", "x".join(map(str, size)), "--fps", str(RATE), "--preset", "veryfast", "--crf", "18"]
        command += ["--audio-bitrate", "320k", "--http", f"127.0.0.1:{self.port}", "--no-status"]
        command += ["--record", self.recordings, *flags]
        self.log = open(f"{options.home}/{name}.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        for camera, port, pace in zip(cameras, ports, paces or [1.0] * len(cameras)):
            camera.send(port, pace)

    def report(self):
        return json.loads(ask(self.port, "GET", PROGRAM))

    def put(self, scene, transition=None, at=None):
        """The frame of the program that it begins with."""
        body = {"scene": scene}
        if transition:
            body["transition"] = transition
        if at is not None:
            body["at"] = at
        return json.loads(ask(self.port, "PUT", PROGRAM, body))["frame"]

    def wait(self, what, holds, seconds=30):
        end = time.monotonic() + seconds
        while True:
            try:
                if holds():
                    return
            except (OSError, KeyError, http.client.HTTPException, Refused):
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(f"FAILED  {what}: not within {seconds} s")
            time.sleep(0.02)

    def wait_for_cameras(self):
        names = [f"cam{index + 1}" for index in range(len(self.cameras))]
        self.wait("all cameras are there", lambda: [source["input"] for source in self.report()["sources"]] == names)

    def wait_for_frame(self, wanted):
        self.wait(f"frame {wanted}", lambda: self.report()["frame"] >= wanted, seconds=1800)

    def end(self):
        for camera in self.cameras:
            camera.end()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.log.close()
        return status

    @property
    def file(self):
        """What was recorded, in one file."""
        names = sorted(os.listdir(self.recordings))
        files = [f"{self.recordings}/{name}" for name in names if name.endswith(".mp4")]
        if len(files) != 1:
            raise SystemExit(f"FAILED  {len(files)} files were recorded, not one: {names}")
        return files[0]


def codes_of(path, crop):
    """Each frame's source and number, of what is at a place."""
    graph = f"format=gray,crop={crop},scale={COLUMNS}:{ROWS}:flags=area"
    data = ffmpeg("-i", path, "-an", "-vf", graph, "-vsync", "passthrough", "-f", "rawvideo", "-")
    step = COLUMNS * ROWS
    numbers = [number(data[at : at + step]) for at in range(0, len(data), step)]
    return [(value >> SHIFT, value & (1 << SHIFT) - 1) if value >= 0 else (-1, -1) for value in numbers]


FULL = f"{WIDTH}:{ROWS * CELL}:0:{HEIGHT - ROWS * CELL}"


def steps_text(path):
    times = frame_times(path)
    steps = [round((two - one) * 90_000) for one, two in zip(times, times[1:])]
    check(set(steps) <= {90_000 // RATE}, f"the frames are {90_000 // RATE} ticks of 90 kHz apart, all {len(times)} of them")


class Cut:
    """A cut: the frame that was named, and the source that is seen from there on."""

    def __init__(self, frame_number, source):
        self.frame, self.source = frame_number, source


def perform_cuts(show, count, chance):
    """Cuts at once and at frames ahead, at random."""
    cuts, on_air = [], 1
    for index in range(count):
        source = chance.choice([camera.source for camera in show.cameras if camera.source != on_air])
        before = cuts[-1].frame if cuts else show.report()["frame"]
        if index % 2:
            show.wait_for_frame(before + chance.randint(10, 30))
            named = show.put(f"cam{source}")
        else:
            at = max(before, show.report()["frame"]) + chance.randint(12, 40)
            named = show.put(f"cam{source}", at=at)
            check(named == at, f"a cut at {at} is at {named}") if named != at else None
            show.wait_for_frame(named)
        cuts.append(Cut(named, source))
        on_air = source
    show.wait_for_frame(cuts[-1].frame + RATE)
    return cuts


def judge_sources(seen, cuts):
    """Whether each frame is of the source that was to be seen; the runs."""
    edges = [Cut(0, 1), *cuts, Cut(len(seen), 0)]
    wrong = []
    for one, two in zip(edges, edges[1:]):
        wrong += [at for at in range(one.frame, two.frame) if seen[at][0] != one.source]
    check(not wrong, f"{len(cuts)} cuts, each on the frame that the answer named; {len(wrong)} frames are not as said {wrong[:5]}")
    return [(one.source, one.frame, two.frame) for one, two in zip(edges, edges[1:])]


def judge_rates(seen, runs, cameras):
    """No frame of a source on air may be lost, nor come twice but for its rate."""
    for camera in cameras:
        ratio, lost, twice, most, frames = camera.frames_a_second / RATE, 0, 0, 0, 0
        for source, low, high in runs:
            # The first frames of a program are its source's beginning.
            low = max(low, RATE) if low == 0 else low
            if source != camera.source or high - low < 2:
                continue
            indices = [seen[at][1] for at in range(low, high)]
            steps = [two - one for one, two in zip(indices, indices[1:])]
            lost += sum(max(0, step - 1) for step in steps) + sum(step < 0 for step in steps)
            twice += steps.count(0)
            most += math.ceil(len(steps) * (1 - ratio)) if ratio < 1 else 0
            frames += high - low
        check(
            lost == 0 and twice <= most,
            f"{camera.rate} frames a second: of {frames} frames on air {lost} lost, {twice} shown again "
            f"(their rate takes up to {most})",
        )


def amplitudes(samples, low, high, angle):
    """Of sine and cosine of a tone in samples[low:high], which turns by an angle each sample."""
    sines = [math.sin(angle * at) for at in range(low, high)]
    cosines = [math.cos(angle * at) for at in range(low, high)]
    part = samples[low:high]
    ss, cc, sc = sum(map(mul, sines, sines)), sum(map(mul, cosines, cosines)), sum(map(mul, sines, cosines))
    xs, xc = sum(map(mul, part, sines)), sum(map(mul, part, cosines))
    scale = ss * cc - sc * sc
    return (xs * cc - xc * sc) / scale, (xc * ss - xs * sc) / scale


def phase(samples, low, high, angle):
    sine, cosine = amplitudes(samples, low, high, angle)
    return math.atan2(cosine, sine)


class Tone:
    """The tone in samples[low:high]: its pitch is that of its camera but for what its clock is being followed by. 500 ppm
    would put a tone of 1250 Hz 0.2 rad off at an end of 100 ms."""

    def __init__(self, samples, low, high, hertz):
        self.angle = 2 * math.pi * hertz / SAMPLES
        middle = (low + high) // 2
        for _ in range(2):
            turned = phase(samples, middle, high, self.angle) - phase(samples, low, middle, self.angle)
            self.angle += math.remainder(turned, 2 * math.pi) / ((high - low) / 2)
        self.sine, self.cosine = amplitudes(samples, low, high, self.angle)

    def at(self, place):
        return self.sine * math.sin(self.angle * place) + self.cosine * math.cos(self.angle * place)


def fade_begin(channels, boundary, before, after):
    """By how many samples a fade of half a frame with equal power begins after a boundary: where the two tones of each channel,
    faded so, are nearest to what is heard. Two channels, because of one alone an ideal fade that AAC codes at 320 kbit/s is
    found up to 1.5 samples beside its place, once in 160; of both within 0.5."""
    length = STEP // 2
    places = range(boundary - 100, boundary + length + 100)
    heard = []
    for samples, one, two in zip(channels, before, after):
        one = Tone(samples, boundary - 3 * STEP, boundary - 20, one)
        two = Tone(samples, boundary + length + 20, boundary + 3 * STEP, two)
        heard += [(at, samples[at], one.at(at), two.at(at)) for at in places]

    def difference(shift):
        total = 0
        for at, sample, x, y in heard:
            part = min(1, max(0, (at - boundary - shift + 0.5) / length)) * math.pi / 2
            error = sample - math.cos(part) * x - math.sin(part) * y
            total += error * error
        return total

    best = min(range(-24, 25, 4), key=difference)
    return min(range(best - 4, best + 5), key=difference)


def judge_audio(path, cuts, cameras):
    """Where fades begin, and what is heard at them above all tones."""
    tones = {camera.source: camera.tones for camera in cameras}
    audio = audio_of(path)
    shifts, splashes, on_air, calm = collections.Counter(), [], 1, []
    frames = [cut.frame for cut in cuts]
    for index, cut in enumerate(cuts):
        boundary = cut.frame * STEP
        free = index == 0 or cut.frame - frames[index - 1] >= 5
        free = free and (index + 1 == len(cuts) or frames[index + 1] - cut.frame >= 5)
        if free and cut.source != on_air:
            shifts[fade_begin(audio, boundary, tones[on_air], tones[cut.source])] += 1
        splashes.append(splash(audio, boundary - AROUND // 4, boundary + STEP))
        if index % 10 == 0:
            calm.append(splash(audio, boundary - 4 * STEP, boundary - 3 * STEP))
        on_air = cut.source
    check(
        max(map(abs, shifts)) <= 1,
        f"audio begins to change at the frame's first sample: {dict(sorted(shifts.items()))} samples beside it (bound 1)",
    )
    check(
        max(splashes) <= MOST_SPLASH,
        f"at cuts there are {max(splashes):.1f} dB of full scale above 6 kHz at the most (bound {MOST_SPLASH}); between them "
        f"{max(calm):.1f}",
    )


def cuts_part(options):
    chance = random.Random(options.seed)
    seconds = options.cuts * 1.2 + 40
    rates = ((1, str(RATE), 500), (2, "25", 1250), (3, "30000/1001", 880))
    cameras = [Camera(options.home, source, rate, seconds, tone) for source, rate, tone in rates]
    show = Show(options, "cuts", cameras)
    try:
        show.wait_for_cameras()
        cuts = perform_cuts(show, options.cuts, chance)
    finally:
        status = show.end()
    check(status == 0, f"relay ended with {status}")
    seen = codes_of(show.file, FULL)
    runs = judge_sources(seen, cuts)
    judge_rates(seen, runs, cameras)
    steps_text(show.file)
    judge_audio(show.file, cuts, cameras)


def runs_of(indices):
    """The longest run of one number, and how many steps are neither 0 nor 1."""
    longest = run = 1
    odd = 0
    for one, two in zip(indices, indices[1:]):
        run = run + 1 if two == one else 1
        longest = max(longest, run)
        odd += two - one not in (0, 1)
    return longest, odd


def stalls_part(options):
    """A source that is not on air stands still, then the one that is; one goes in the middle of a transition."""
    cameras = [Camera(options.home, source, str(RATE), 90, tone) for source, tone in ((1, 500), (2, 1250), (3, 880))]
    show = Show(options, "stalls", cameras)
    try:
        show.wait_for_cameras()
        marks = []
        for camera in (cameras[1], cameras[0]):
            begin = show.report()["frame"]
            camera.process.send_signal(signal.SIGSTOP)
            show.wait_for_frame(begin + STALL * RATE)
            camera.process.send_signal(signal.SIGCONT)
            marks.append((begin, show.report()["frame"]))
            show.wait_for_frame(marks[-1][1] + 3 * RATE)
        fade = show.put("cam3", {"type": "fade", "seconds": 1})
        show.wait_for_frame(fade + RATE // 2)
        cameras[0].process.kill()
        last = show.put("cam2", {"type": "fade", "seconds": 1}, at=fade + 3 * RATE)
        show.wait_for_frame(last + RATE // 2)
        cameras[1].process.kill()
        show.wait_for_frame(last + 3 * RATE)
    finally:
        status = show.end()
    check(status == 0, f"relay ended with {status}")
    seen = codes_of(show.file, FULL)
    steps_text(show.file)
    quiet = [index for _, index in seen[marks[0][0] : marks[0][1]]]
    longest, odd = runs_of(quiet)
    check(longest == 1 and not odd, f"{STALL} s of a source off air: {len(quiet)} frames of the one on air, each once, in order")
    still = seen[marks[1][0] : marks[1][1]]
    last_of_it = [index for source, index in still if source == 1]
    kept = [source for source, _ in still]
    check(
        runs_of(last_of_it)[1] == 0 and kept[: RATE // 2].count(1) == RATE // 2,
        f"{STALL} s of the source on air: its frames in order, the last one {runs_of(last_of_it)[0]} times, its slate for "
        f"{len(kept) - kept.count(1)} frames",
    )
    after = [source for source, _ in seen[fade + RATE : fade + 3 * RATE]]
    check(set(after) == {3}, f"what goes dies in mid-transition: the {len(after)} frames behind it are of what was asked for")
    check(
        len(seen) >= last + 3 * RATE, f"what comes dies in mid-transition: the program goes on, {len(seen) - last} frames of it"
    )


def pulse_template():
    return [
        math.sin(2 * math.pi * PULSE_HERTZ * at / SAMPLES) * math.sin(math.pi * at / PULSE) ** 2 for at in range(PULSE)
    ]


def pulse_near(samples, place, template, reach):
    """Where a pulse begins near a place, in samples; none if there is nothing as loud as one."""
    low = max(0, place - reach)
    scores = [
        sum(map(mul, samples[at : at + PULSE], template)) for at in range(low, min(place + reach, len(samples) - PULSE))
    ]
    if not scores or max(scores) < 0.1 * sum(map(mul, template, template)):
        return None
    return low + scores.index(max(scores))


def judge_offsets(path, seen, source, low, high):
    """How far pulses are from the frames that they were sent with, in milliseconds."""
    audio, template = audio_of(path)[0], pulse_template()
    offsets, first = [], {}
    for at in range(low, min(high, len(seen))):
        if seen[at][0] == source:
            first.setdefault(seen[at][1], at)
    for index, at in first.items():
        if index % RATE == 0:
            place = pulse_near(audio, at * STEP, template, SAMPLES // 20)
            if place is not None:
                offsets.append((place - at * STEP) / SAMPLES * 1000)
    return offsets


def pairing_part(options):
    """Two cameras with the same numbers, one of which has a faster clock, one in the other."""
    seconds = options.minutes * 60
    cameras = [Camera(options.home, source, str(RATE), seconds + 120, 440, pulses=True) for source in (1, 2)]
    show = Show(options, "pairing", cameras, "--segment", "12h", size=(2 * WIDTH, 2 * HEIGHT), paces=[1.0, 1 + FAST])
    inset = {"x": 0.7, "y": 0.05, "width": 0.25}
    try:
        show.wait_for_cameras()
        both = {"layout": "pip", "sources": ["cam1", "cam2"], "inset": inset}
        begin = show.put(both) + 5 * RATE
        show.wait_for_frame(begin + seconds * RATE * 3 // 4)
        other = show.put("cam2")
        show.wait_for_frame(other + seconds * RATE // 4)
        # The program's clock has come to the other camera by now, and goes back.
        again = show.put(both)
        show.wait_for_frame(again + 45 * RATE)
        last = show.report()["frame"] - RATE
    finally:
        status = show.end()
    check(status == 0, f"relay ended with {status}")
    left, top, width = round(0.7 * 2 * WIDTH), round(0.05 * 2 * HEIGHT), WIDTH // 2
    height = width * HEIGHT // WIDTH
    rows = height * ROWS * CELL // HEIGHT
    main = codes_of(show.file, f"{2 * WIDTH}:{2 * ROWS * CELL}:0:{2 * (HEIGHT - ROWS * CELL)}")
    small = codes_of(show.file, f"{width}:{rows}:{left}:{top + height - rows}")
    known = [(at, one[1], two[1]) for at, (one, two) in enumerate(zip(main, small)) if (one[0], two[0]) == (1, 2)]
    pairs = [pair for pair in known if begin <= pair[0] < other]
    check(len(pairs) > 0.999 * (other - begin), f"{len(pairs)} of {other - begin} frames show both")
    steps = collections.Counter(two[1] - one[1] for one, two in zip(pairs, pairs[1:]))
    check(set(steps) == {1}, f"the reference's frames follow each other: {dict(steps)}")
    # What the other is ahead, less what its clock gains.
    ahead = [two - one - FAST * at for at, one, two in pairs]
    middle = (max(ahead) + min(ahead)) / 2
    moves = [
        f"{(one[0] - begin) / RATE:.0f} s ({phase - middle:+.3f})"
        for one, two, phase in zip(pairs, pairs[1:], ahead) if two[2] - two[1] != one[2] - one[1]
    ]
    tell("the other's frames go on to the next one at " + ", ".join(moves))
    check(
        max(ahead) - middle <= 0.5 + 0.5 / RATE,
        f"of {len(pairs)} pairs none is further apart than {min(ahead) - middle:+.3f} to {max(ahead) - middle:+.3f} of a frame",
    )
    # In the frame of the change a late frame may be shown once more.
    back = [two - one - FAST * at - middle for at, one, two in known if again < at <= last]
    check(
        len(back) > 0.99 * (last - again) and max(map(abs, back)) <= 0.5 + 0.5 / RATE,
        f"side by side again, of {len(back)} pairs none is further apart than {min(back):+.3f} to {max(back):+.3f} of a frame",
    )
    offsets = judge_offsets(show.file, main, 1, begin, other)
    check(
        len(offsets) > 0.9 * (other - begin) / RATE and max(map(abs, offsets)) <= MOST_OFFSET,
        f"audio of the reference is {min(offsets):+.2f} to {max(offsets):+.2f} ms from its frames, {len(offsets)} pulses "
        f"(bound {MOST_OFFSET})",
    )
    offsets = judge_offsets(show.file, main, 2, other + RATE, again)
    tell(
        f"that of the other, alone on air, {min(offsets):+.2f} to {max(offsets):+.2f} ms, in the middle "
        f"{statistics.median(offsets):+.2f}, {len(offsets)} pulses"
    )
    check(max(map(abs, offsets)) <= 500 / RATE + MOST_OFFSET, "which is half a frame")


PARTS = {
    "cuts": cuts_part,
    "stalls": stalls_part,
    "cost": costs.cost_part,
    "standby": costs.standby_part,
    "render": costs.render_part,
    "pairing": pairing_part,
}


def main():
    parser = argparse.ArgumentParser()
    for name in ("--relay", "--home"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    PARTS[options.only](options)


if __name__ == "__main__":
    conclude(main, "sources")
