# SPDX-License-Identifier: Apache-2.0
"""Short clips of several files that relay stitches, each frame and sample against its source; started by the script `clips`
beside this file."""

import argparse
import collections
import dataclasses
import json
import math
import os
import random
import subprocess

from decoded import audio_of, ffmpeg, first_time, frame_times, hashes_of
from load import check, conclude, tell
from splash import AROUND, PIECE, decibels, join_residual, lag, pieces, splash, splash_of_cut

RATE, SAMPLES = 30, 48_000
STEP = SAMPLES // RATE
SIZE = 320 * 180 * 3 // 2
CLIPS, SECONDS = 20, 20
SHORTEST, LONGEST = 3, 90
# The last differs in its parameter sets: its clips are coded again.
SOURCES = {
    "a": (["hue=h=0"], ["-preset", "veryfast", "-g", "45"], "311*t+23*t*t", "353*t+19*t*t", (1237, 2711)),
    "b": (["hue=h=120", "hflip"], ["-preset", "veryfast", "-g", "60"], "271*t+17*t*t", "419*t+13*t*t", (1621, 2293)),
    "c": (["negate", "vflip"], ["-preset", "ultrafast", "-g", "30"], "223*t+29*t*t", "467*t+11*t*t", (1061, 3109)),
}
# Samples: half of what a fade lasts, what a coder needs to begin and to end.
FADE, EDGE = STEP // 2 // 2, 1024
# Samples at a join that may be coded again where a clip's audio is copied: five packets.
BRIDGE = 5 * 1024
# dB: of frames that are coded again; of the noise of audio that is, less the audio; of full scale, of copied audio's
# difference (what 16 bits cannot tell), and at joins.
LEAST_PSNR, MOST_NOISE, MOST_OF_COPIED, MOST_SPLASH = 35, -28, -100, -60
# Samples by which a clip's audio may be elsewhere than its frames: 1 ms.
MOST_LAG = SAMPLES // 1000


@dataclasses.dataclass
class Clip:
    """Some frames of a file; where they are in the result, in samples, and by how many samples more its audio is."""

    file: str
    first: int
    count: int
    place: int = 0
    lag: int = 0

    @property
    def source(self):
        """Where the audio of the result's first sample would be in the file's."""
        return self.first * STEP - self.place - self.lag


class Source:
    """A file to cut from."""

    def __init__(self, home, name):
        filters, coder, left, right, tones = SOURCES[name]
        self.path = f"{home}/{name}.mp4"
        steady = "+".join(f"{0.09 - 0.03 * index}*sin(2*PI*{tone}*t+{index})" for index, tone in enumerate(tones))
        channels = "|".join(f"0.16*sin(2*PI*({chirp}))+{steady}" for chirp in (left, right))
        ffmpeg(
            "-f", "lavfi", "-i", f"testsrc2=size=320x180:rate={RATE}:duration={SECONDS}",
            "-f", "lavfi", "-i", f"aevalsrc='{channels}':s={SAMPLES}:d={SECONDS}",
            "-vf", ",".join([*filters, "format=yuv420p"]), "-c:v", "libx264", *coder, "-crf", "18", "-bf", "2",
            "-c:a", "aac", "-b:a", "192k", self.path,
        )
        self.hashes, self.audio = hashes_of(self.path), audio_of(self.path)
        self.raw = f"{home}/{name}.yuv"
        ffmpeg("-i", self.path, "-an", "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", self.raw)
        if first_time(self.path, "a:0") or first_time(self.path, "v:0") or len(set(self.hashes)) != RATE * SECONDS:
            raise SystemExit(f"FAILED  {self.path} is not as it was to be made")


def run(command):
    """What a command says, which must succeed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"FAILED  {command} ends with {done.returncode}: {done.stderr}")
    return done.stdout


def choose(chance):
    """Clips of all files, never two that go on from one to the next."""
    files = [sorted(SOURCES)[number % len(SOURCES)] for number in range(CLIPS)]
    chance.shuffle(files)
    return [
        Clip(file, chance.randint(RATE, (SECONDS - 4) * RATE), chance.randint(SHORTEST, LONGEST)) for file in files
    ]


class Result:
    """What relay makes of the clips."""

    def __init__(self, options, clips, sources, mode):
        self.clips, self.sources, self.path = clips, sources, f"{options.home}/{mode}.mp4"
        self.home, self.mode = options.home, mode
        words = [
            f"{sources[clip.file].path}#from={clip.first * 1000 // RATE / 1000},"
            f"to={-(-(clip.first + clip.count) * 1000 // RATE) / 1000}"
            for clip in clips
        ]
        command = [options.relay, "stitch", *words, "--audio", mode]
        self.plan = json.loads(run([*command, "--dry-run", "--json"]))["clips"]
        run([*command, "-o", self.path])

    def judge(self):
        moves = [clip["moved_us"] / 1000 for clip in self.plan]
        copied = sum(clip["copies_audio"] for clip in self.plan)
        tell(f"--audio {self.mode}: the audio of {copied} clips copied, frames moved by up to {max(map(abs, moves)):.1f} ms")
        self.judge_frames()
        self.judge_audio()

    def judge_frames(self):
        wanted = [(clip.file, clip.first + number) for clip in self.clips for number in range(clip.count)]
        found = hashes_of(self.path)
        same = [one == self.sources[file].hashes[number] for one, (file, number) in zip(found, wanted)]
        planned = sum(clip["copied_frames"] for clip in self.plan)
        check(len(found) == len(wanted), f"{len(found)} frames of {len(wanted)}")
        check(sum(same) >= planned, f"{sum(same)} frames decode to the bytes that their source's do, {planned} were copied")
        quality = self.quality(wanted)
        coded = [value for value, is_same in zip(quality, same) if not is_same]
        least = min(coded, default=math.inf)
        check(
            least > LEAST_PSNR and len(quality) == len(wanted),
            f"{len(coded)} coded again, {least:.1f} dB from their source at the least (bound {LEAST_PSNR})",
        )

    def quality(self, wanted):
        """PSNR of each frame."""
        wanted_path, log = f"{self.home}/wanted.yuv", f"{self.home}/psnr"
        with open(wanted_path, "wb") as output:
            raw = {name: open(source.raw, "rb") for name, source in self.sources.items()}
            for name, number in wanted:
                raw[name].seek(number * SIZE)
                output.write(raw[name].read(SIZE))
            for file in raw.values():
                file.close()
        times = f"settb=1/{RATE},setpts=N"
        ffmpeg(
            "-v", "fatal", "-i", self.path,
            "-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", "320x180", "-framerate", str(RATE), "-i", wanted_path,
            "-lavfi", f"[0:v]{times}[a];[1:v]{times}[b];[a][b]psnr=stats_file={log}",
            "-vsync", "passthrough", "-f", "null", "-",
        )
        os.remove(wanted_path)
        with open(log, encoding="utf-8") as file:
            return [float(line.split("psnr_avg:")[1].split()[0]) for line in file]

    def judge_audio(self):
        audio, begin = audio_of(self.path), first_time(self.path, "a:0")
        times = frame_times(self.path)
        # Where the first sample that is decoded is.
        origin = round((begin - times[0]) * SAMPLES)
        frame = 0
        for clip in self.clips:
            clip.place = round((times[frame] - times[0]) * SAMPLES) - origin
            frame += clip.count
        end = self.clips[-1].place + self.clips[-1].count * STEP
        check(abs(len(audio[0]) - end) <= EDGE, f"{len(audio[0])} samples; its frames last {end}")
        ends = [clip.place for clip in self.clips[1:]] + [min(end, len(audio[0]))]
        regions = []
        for index, (clip, until) in enumerate(zip(self.clips, ends)):
            low = max(0, clip.place + FADE) if index else EDGE
            regions.append((low, until - FADE if index < len(self.clips) - 1 else until - EDGE))
        self.judge_lags(audio, regions)
        inside = self.judge_inside(audio, regions)
        self.judge_joins(audio, inside)

    def judge_lags(self, audio, regions):
        torn = []
        for clip, (low, high) in zip(self.clips, regions):
            clip.lag, source, half = 0, self.sources[clip.file].audio[0], min(8000, (high - low) // 2)
            one = lag(audio[0], source, low, low + half, clip.source, 2 * MOST_LAG)
            other = lag(audio[0], source, high - half, high, clip.source, 2 * MOST_LAG)
            clip.lag = one
            if one != other:
                torn.append((clip, one, other))
        lags = collections.Counter(clip.lag for clip in self.clips)
        check(not torn, f"in {len(torn)} clips samples are missing or there twice {torn[:1]}")
        check(
            max(map(abs, lags)) <= MOST_LAG,
            f"the audio of {lags[0]} clips is with its frames to the sample, the others' by up to "
            f"{max(map(abs, lags)) / SAMPLES * 1000:.2f} ms beside (bound 1)",
        )

    def judge_inside(self, audio, regions):
        """What differs from the sources outside the fades; the loudest 5 ms of it."""
        worst, loudest, loudest_copied, copied = -math.inf, -math.inf, -math.inf, 0
        for clip, plan, (low, high) in zip(self.clips, self.plan, regions):
            for channel, source in zip(audio, self.sources[clip.file].audio):
                part = source[low + clip.source : high + clip.source]
                residual = [one - two for one, two in zip(channel[low:high], part)]
                worst = max(worst, decibels(residual) - decibels(part))
                loudest = max(loudest, *map(decibels, pieces(residual)))
                if plan["copies_audio"] and len(residual) > 2 * BRIDGE:
                    middle = residual[BRIDGE:-BRIDGE]
                    loudest_copied, copied = max(loudest_copied, *map(decibels, pieces(middle))), copied + len(middle)
        check(
            worst <= MOST_NOISE,
            f"outside the fades the noise of no clip is louder than {worst:.1f} dB of the clip (bound {MOST_NOISE}); the "
            f"loudest 5 ms of it have {loudest:.1f} dB of full scale",
        )
        if copied:
            check(
                loudest_copied <= MOST_OF_COPIED,
                f"{copied // 2} samples of copied packets, {loudest_copied:.1f} dB from the source's (bound {MOST_OF_COPIED})",
            )
        return loudest

    def judge_joins(self, audio, inside):
        residuals, splashes, hard, calm = [], [], [], []
        for one, two in zip(self.clips, self.clips[1:]):
            pair = [(clip.source, self.sources[clip.file].audio) for clip in (one, two)]
            residuals.append(join_residual(audio, *pair, two.place, FADE, one.file == two.file))
            splashes.append(splash(audio, two.place - AROUND, two.place + AROUND))
            hard.append(splash_of_cut(*pair, two.place))
            middle = (one.place + two.place) // 2
            calm.append(splash(audio, middle - PIECE * 2, middle + PIECE * 2))
        tell(
            f"{len(residuals)} joins: the loudest 5 ms that differ from crossfades of the sources have {max(residuals):.1f} dB "
            f"of full scale; at {sum(value > inside for value in residuals)} they are louder than outside the fades"
        )
        check(
            max(splashes) <= MOST_SPLASH,
            f"splash at joins, above 6 kHz, where the sources have nothing: {max(splashes):.1f} dB of full scale "
            f"(bound {MOST_SPLASH}); in the middle of clips {max(calm):.1f}; with cuts in place of fades it would be {max(hard):.1f}",
        )


def tell_concat(home, clips, sources):
    """What ffmpeg's own joining of copied packets makes of the same clips; judges nothing."""
    path = f"{home}/concat.txt"
    with open(path, "w", encoding="utf-8") as file:
        for clip in clips:
            file.write(f"file '{sources[clip.file].path}'\ninpoint {clip.first / RATE:.6f}\n")
            file.write(f"outpoint {(clip.first + clip.count) / RATE:.6f}\n")
    ffmpeg("-v", "fatal", "-f", "concat", "-safe", "0", "-i", path, "-c", "copy", f"{home}/concat.mp4")
    wanted = [sources[clip.file].hashes[clip.first + number] for clip in clips for number in range(clip.count)]
    found, audio = collections.Counter(hashes_of(f"{home}/concat.mp4")), audio_of(f"{home}/concat.mp4")
    lacking = collections.Counter(wanted) - found
    tell(
        f"ffmpeg's concat demuxer makes {found.total()} frames of {len(wanted)}, {lacking.total()} of them not right, and "
        f"{len(audio[0])} samples of {len(wanted) * STEP}"
    )


def main():
    parser = argparse.ArgumentParser()
    for name in ("--relay", "--home"):
        parser.add_argument(name, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    clips = choose(random.Random(options.seed))
    sources = {name: Source(options.home, name) for name in SOURCES}
    lengths = [clip.count / RATE for clip in clips]
    tell(f"{CLIPS} clips of {min(lengths):.1f} to {max(lengths):.1f} s, {sum(length < 2 for length in lengths)} under 2 s")
    for mode in ("auto", "copy", "encode"):
        Result(options, clips, sources, mode).judge()
    tell_concat(options.home, clips, sources)


if __name__ == "__main__":
    conclude(main, "stitch")
