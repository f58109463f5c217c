# SPDX-License-Identifier: Apache-2.0
"""The kinds that only files have: samples that no encoder takes, and boxes that change what is shown."""
from __future__ import annotations

import struct
from pathlib import Path

import mp4
from media import RATE, Coding
from stream import Sent, Shape, Studio

BOTH = ("file", "http")
FRAMES = 6 * RATE


def changed(studio: Studio, data: bytes) -> Path:
    path = studio.path(".mp4")
    path.write_bytes(data)
    return path


def spoil(data: bytes, at: float, values: list[float], rate: int = 48_000, channels: int = 2) -> bytes:
    """Puts values into 32-bit samples of a WAV file, from a time on."""
    start = data.index(b"data") + 8 + round(at * rate) * 4 * channels
    block = struct.pack(f"<{len(values)}f", *values)
    return data[:start] + block + data[start + len(block):]


def samples(studio: Studio) -> Sent:
    name, value = studio.rng.choice([("NaN", float("nan")), ("infinite", float("inf")), ("1e6-fold", 1e6)])
    count = studio.rng.choice([1, 100, 20_000])
    whole = studio.file_of(Coding(frames=FRAMES, audio="pcm_f32le"), studio.path(".mkv"))
    audio = studio.mux([whole], studio.path(".wav"), "0:a")
    audio.write_bytes(spoil(audio.read_bytes(), 2.5, [value] * count))
    path = studio.mux([whole, audio], studio.path(".mkv"), "0:v", "1:a")
    return Sent(f"{count} {name} samples at 2.5 s", file=path, frames=(0, FRAMES - 1),
                disturbed=[(2.4, 2.6 + count / 96_000)], says="(sample|audio)")


def edit_list(studio: Studio) -> Sent:
    begin, delay = studio.rng.randrange(1, 50) / RATE, studio.rng.choice([0.0, 0.4])
    length = 4.0
    data = studio.file_of(Coding(frames=FRAMES), studio.path(".mp4")).read_bytes()
    path = changed(studio, mp4.cut_by_edit(data, begin, length, delay))
    first = round(begin * RATE)
    return Sent(f"an edit list that shows {length} s from {begin} s on, {delay} s late", file=path,
                frames=(first, first + round(length * RATE) - 1), disturbed=[(begin, begin + 0.1)])


def rotation(studio: Studio) -> Sent:
    quarters = studio.rng.randrange(1, 4)
    data = studio.file_of(Coding(frames=FRAMES), studio.path(".mp4")).read_bytes()
    width, height = Shape().size
    shape = Shape((height, width) if quarters % 2 else (width, height))
    return Sent(f"turned by {90 * quarters} degrees", file=changed(studio, mp4.rotate(data, quarters)),
                shape=shape, numbered=False, av=False)


def one_frame(studio: Studio) -> Sent:
    audio = studio.rng.random() < 0.5
    whole = studio.file_of(Coding(frames=1, bframes=0), studio.path(".mp4"))
    path = studio.mux([whole], studio.path(".mp4"), "0:v", *(["0:a"] if audio else []))
    return Sent(f"one frame, {'with' if audio else 'without'} audio", file=path, frames=(0, 0), audible=False, av=False)


def no_end(studio: Studio) -> Sent:
    part = studio.pick(0.5, 0.95)
    suffix = studio.rng.choice([".ts", ".flv", ".mkv"])
    data = studio.file_of(Coding(frames=FRAMES), studio.path(suffix)).read_bytes()
    path = studio.path(suffix)
    path.write_bytes(mp4.cut_off(data, part))
    # How much of the last part can be read is the container's: at most 1.5 s are lost.
    return Sent(f"{suffix[1:]}, of which the last {1 - part:.0%} are missing", file=path,
                frames=(0, round((FRAMES * part) - 1.5 * RATE)), says="")
