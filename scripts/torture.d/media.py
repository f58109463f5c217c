# SPDX-License-Identifier: Apache-2.0
"""The sender's program: numbered frames with flashes and beeps, coded by ffmpeg, and taken apart into units.

Frame n carries its number in two rows of cells at its bottom, as relay's test pattern does. Each second begins with a
flash of two frames and a beep whose pitch says which second it is.
"""
from __future__ import annotations

import math
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path += [str(Path(__file__).parent.parent / name) for name in ("accept.d", "chaos.d")]
from decoded import code  # noqa: E402

RATE = 25
SAMPLES = 48_000
WIDTH, HEIGHT = 320, 180
COLUMNS, ROWS, CELL = 20, 2, 16
PITCHES = 8
BEEP = 0.08
FFMPEG = ["ffmpeg", "-v", "error", "-nostdin", "-y"]


def pitch(second: int) -> int:
    """Hertz of the beep of a second."""
    return 500 + 200 * (second % PITCHES)


def picture(number: int) -> bytes:
    """One frame, as yuv420p."""
    bits = code(number)
    cells = [b"".join((b"\xeb" if bit == "1" else b"\x10") * CELL for bit in bits[row * COLUMNS:(row + 1) * COLUMNS])
             * CELL for row in range(ROWS)]
    line = bytearray([60]) * WIDTH
    if number % RATE < 2:
        line = bytearray([230]) * WIDTH
    else:
        at = number * 4 % (WIDTH - 16)
        line[at:at + 16] = bytes([110]) * 16
    chroma = WIDTH * HEIGHT // 4
    return bytes(line) * (HEIGHT - ROWS * CELL) + b"".join(cells) + bytes([110]) * chroma + bytes([140]) * chroma


def sound(seconds: int) -> bytes:
    """All of the audio, as 16-bit mono."""
    quiet = bytes(2 * SAMPLES)
    parts = []
    for second in range(seconds):
        count = round(BEEP * SAMPLES)
        beep = struct.pack(f"<{count}h", *(
            round(16000 * math.sin(2 * math.pi * pitch(second) * index / SAMPLES)) for index in range(count)))
        parts.append(beep + quiet[len(beep):])
    return b"".join(parts)


def make_master(path: Path, seconds: int) -> None:
    """The program without loss, from which each clip is coded."""
    audio = path.with_suffix(".pcm")
    audio.write_bytes(sound(seconds))
    coder = subprocess.Popen(
        [*FFMPEG[:3], "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", f"{WIDTH}x{HEIGHT}", "-framerate",
         str(RATE), "-i", "-", "-f", "s16le", "-ar", str(SAMPLES), "-ac", "1", "-i", audio, "-c:v", "libx264", "-qp",
         "0", "-preset", "ultrafast", "-c:a", "pcm_s16le", path], stdin=subprocess.PIPE)
    assert coder.stdin
    for number in range(seconds * RATE):
        coder.stdin.write(picture(number))
    coder.stdin.close()
    if coder.wait():
        raise RuntimeError(f"{path} cannot be made")


@dataclass(frozen=True)
class Coding:
    """How a clip is coded."""

    begin: int = 0
    """The first frame."""
    frames: int = 12 * RATE
    size: tuple[int, int] = (WIDTH, HEIGHT)
    gop: float = 1.0
    kilobits: int = 0
    """Of video, held by filler data; 0 lets x264 take what it needs."""
    aspect: str = "1"
    bframes: int = 2
    rate: int = RATE
    samples: int = SAMPLES
    channels: int = 2
    audio: str = "aac"


def encode(master: Path, coding: Coding, path: Path, *more: str) -> Path:
    """Codes a part of the master into a file whose ending says the container."""
    begin, end = coding.begin, coding.begin + coding.frames
    width, height = coding.size
    video = f"[0:v]trim=start_frame={begin}:end_frame={end},setpts=PTS-STARTPTS"
    if coding.rate != RATE:
        video += f",fps={coding.rate}"
    video += f",scale={width}:{height}:flags=neighbor,setsar={coding.aspect}[v]"
    times = f"start={begin / RATE}:end={end / RATE}"
    audio = f"[0:a]atrim={times},asetpts=PTS-STARTPTS,aresample={coding.samples}[a]"
    rate = ["-crf", "20"]
    if coding.kilobits:
        rate = ["-b:v", f"{coding.kilobits}k", "-maxrate", f"{coding.kilobits}k", "-bufsize", f"{coding.kilobits}k",
                "-x264-params", "nal-hrd=cbr:filler=1"]
    gop = max(1, round(coding.gop * coding.rate))
    subprocess.run(
        [*FFMPEG, "-i", master, "-filter_complex", f"{video};{audio}", "-map", "[v]", "-map", "[a]", "-c:v", "libx264",
         "-preset", "superfast", "-tune", "animation", "-threads", "2", "-g", str(gop), "-keyint_min", str(gop),
         "-sc_threshold", "0", "-bf", str(coding.bframes), *rate, "-pix_fmt", "yuv420p", "-c:a", coding.audio, "-ac",
         str(coding.channels), "-b:a", "128k", *more, path], check=True)
    return path


@dataclass
class Unit:
    """One message of the sender: a frame of video, a packet of audio, or metadata."""

    kind: str
    """video, audio or data."""
    time: float
    """Its decoding time as the sender stamps it, in seconds; not a number for none."""
    body: bytes
    """Of video length-prefixed NAL units, of audio raw AAC, of data AMF0."""
    offset: float = 0.0
    """Presentation after decoding, in seconds."""
    key: bool = False
    config: bytes = b""
    """avcC or AudioSpecificConfig in force."""
    number: int = -1
    """The frame's own number."""
    due: float = 0.0
    """When it is sent, in seconds since the first."""
    tag: int = 0
    """What else it wears: the codec's number in an FLV tag, if not AVC's or AAC's."""


@dataclass
class Clip:
    """The units of a coded clip, by decoding time."""

    units: list[Unit] = field(default_factory=list)
    metadata: bytes = b""

    def copy(self) -> list[Unit]:
        return [replace(unit) for unit in self.units]


def flv_tags(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Kind, milliseconds and body of each whole tag of an FLV file."""
    at = 13
    while at + 11 <= len(data):
        size = int.from_bytes(data[at + 1:at + 4], "big")
        if at + 11 + size > len(data):
            return
        yield data[at], int.from_bytes(data[at + 4:at + 7], "big") | data[at + 7] << 24, data[at + 11:at + 11 + size]
        at += 15 + size


def read_flv(data: bytes, rate: int = RATE, samples: int = SAMPLES, begin: int = 0) -> Clip:
    """Takes an FLV file of ffmpeg's apart; its times become exact again."""
    clip, configs = Clip(), {"video": b"", "audio": b""}
    at = begin / RATE
    packets, first, hidden = 0, None, 0
    for kind, milliseconds, body in flv_tags(data):
        if kind == 18:
            clip.metadata = body
        elif kind == 9 and body[1] == 0:
            configs["video"] = body[5:]
        elif kind == 8 and body[1] == 0:
            configs["audio"] = body[2:]
        elif kind == 9 and body[1] == 1:
            offset = int.from_bytes(body[2:5], "big", signed=True) / 1000
            if first is None:
                first = milliseconds / 1000
                hidden = round(offset * rate)
            steps, offset = round((milliseconds / 1000 - first) * rate), round(offset * rate) / rate
            time = first + steps / rate
            shown = steps / rate + offset - hidden / rate
            clip.units.append(Unit("video", at + time, body[5:], offset, body[0] >> 4 == 1, configs["video"],
                                   begin + round(shown * RATE), at + time))
        elif kind == 8:
            if not packets:
                start = milliseconds / 1000
            time = start + packets * 1024 / samples
            packets += 1
            clip.units.append(Unit("audio", at + time, body[2:], config=configs["audio"], due=at + time))
    clip.units.sort(key=lambda unit: (unit.due, unit.kind == "audio"))
    return clip
