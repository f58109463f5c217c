# SPDX-License-Identifier: Apache-2.0
"""Reads a recording back: the number of each frame, flashes, beeps, and the shape."""
from __future__ import annotations

import array
import json
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import media
from decoded import number
from media import PITCHES, pitch

HERTZ = 16_000
LOUD = 5000
QUIET = 0.3
"""Seconds between two beeps at least."""
CELLS = media.COLUMNS * media.ROWS
Region = tuple[float, float, float, float]


@dataclass
class Frame:
    """A frame as it is shown."""

    time: float
    number: int
    """-1 where none can be read."""
    region: int
    """Where it was read."""


@dataclass
class Reading:
    """One file."""

    frames: list[Frame] = field(default_factory=list)
    beeps: list[tuple[float, int]] = field(default_factory=list)
    """When each begins, and the second by its pitch, modulo eight."""
    size: tuple[int, int] = (0, 0)
    aspect: str = ""
    rate: float = 0.0
    audio: bool = False
    errors: list[str] = field(default_factory=list)
    """What ffmpeg complained of."""
    shown: int = 0
    """Frames that were decoded, with a number or without."""


def probe(path: Path) -> dict:
    answer = subprocess.run(
        ["ffprobe", "-v", "error", "-of", "json", "-show_entries",
         "stream=codec_type,width,height,sample_aspect_ratio:stream_side_data=rotation", path],
        stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return json.loads(answer.stdout or b"{}")


def graph(regions: list[Region]) -> str:
    """One line of cells for each region, one below the other: the numbers, as grey pixels."""
    below = media.ROWS * media.CELL / media.HEIGHT
    labels = "".join(f"[r{index}]" for index in range(len(regions)))
    parts = [f"[0:v:0]format=gray,split={len(regions)}{labels}"]
    for index, (x, y, width, height) in enumerate(regions):
        parts.append(
            f"[r{index}]crop=floor(iw*{width}):max(2\\,floor(ih*{height * below:.6f})):floor(iw*{x}):"
            f"floor(ih*{y + height * (1 - below):.6f}):exact=1,scale={media.COLUMNS}:{media.ROWS}:flags=area[c{index}]")
    cells = "".join(f"[c{index}]" for index in range(len(regions)))
    parts.append(f"{cells}vstack=inputs={len(regions)}[all]" if len(regions) > 1 else "[c0]null[all]")
    return ";".join([*parts, "[all]split[cells][times]"])


def beeps(samples: array.array) -> list[tuple[float, int]]:
    """When beeps begin, and which second of eight each says."""
    found, last = [], -HERTZ
    for at, sample in enumerate(samples):
        if not -LOUD < sample < LOUD:
            if at - last > QUIET * HERTZ:
                found.append(at)
            last = at
    return [(at / HERTZ, which(samples[at:at + HERTZ // 20])) for at in found]


def which(samples: array.array) -> int:
    """The second modulo eight, by the crossings of zero in a twentieth of a second; -1 if it is no beep of ours."""
    crossings = sum((one < 0) != (two < 0) for one, two in zip(samples, samples[1:]))
    hertz = crossings * HERTZ / 2 / max(1, len(samples))
    second = min(range(PITCHES), key=lambda index: abs(pitch(index) - hertz))
    return second if abs(pitch(second) - hertz) < 60 else -1


def read(path: Path, regions: list[Region], work: Path) -> Reading:
    """Decodes all of a file."""
    result = Reading()
    for stream in probe(path).get("streams", []):
        if stream["codec_type"] == "video" and not result.size[0]:
            result.size = stream["width"], stream["height"]
            turned = next((data["rotation"] for data in stream.get("side_data_list", []) if "rotation" in data), 0)
            if int(turned) % 180:
                result.size = result.size[::-1]
            result.aspect = stream.get("sample_aspect_ratio", "1:1")
        result.audio |= stream["codec_type"] == "audio"
    codes, times, audio = work / "codes", work / "times", work / "audio"
    if result.size[0]:
        # Frames too small for cells have none, and are still counted.
        chosen = regions if result.size[1] >= 80 else []
        picture = graph(chosen) if chosen else "[0:v:0]format=gray,scale=20:2,split[cells][times]"
        done = subprocess.run(
            [*media.FFMPEG, "-copyts", "-i", path, "-filter_complex", picture, "-map", "[cells]", "-vsync",
             "passthrough", "-f", "rawvideo", codes, "-map", "[times]", "-vsync", "passthrough", "-enc_time_base", "1/90000", "-f",
             "framemd5", times], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        result.errors = done.stderr.splitlines()
        shown = [int(line.split(",")[2]) / 90000 for line in times.read_text().splitlines() if line[:1] not in "#"]
        data, size = codes.read_bytes(), CELLS * max(1, len(chosen))
        for index, time in enumerate(shown):
            cells = data[index * size:(index + 1) * size]
            numbers = [number(cells[at:at + CELLS]) for at in range(0, len(cells), CELLS)] if chosen else []
            region = next((place for place, value in enumerate(numbers) if value >= 0), -1)
            result.frames.append(Frame(time, numbers[region] if region >= 0 else -1, region))
        result.shown = len(shown)
        steps = [later - earlier for earlier, later in zip(shown, shown[1:]) if later > earlier]
        result.rate = 1 / statistics.median(steps) if steps else 0.0
    if result.audio:
        # Without -copyts each of the two would begin at its own first time, and not at the file's.
        subprocess.run([*media.FFMPEG, "-copyts", "-i", path, "-map", "0:a:0", "-af",
                        f"aresample={HERTZ}:async=1:min_hard_comp=0.003:first_pts=0", "-ac", "1", "-f", "s16le", audio],
                       stdin=subprocess.DEVNULL, capture_output=True, check=False)
        samples = array.array("h")
        samples.frombytes(audio.read_bytes()[:2 * 600 * HERTZ])
        result.beeps = beeps(samples)
    for file in (codes, times, audio):
        file.unlink(missing_ok=True)
    return result


def offsets(reading: Reading) -> dict[int, float]:
    """By how many seconds the beep of each second begins after its flash, where both can be told."""
    first: dict[int, float] = {}
    for frame in reading.frames:
        if frame.number >= 0 and frame.number % media.RATE == 0:
            first.setdefault(frame.number // media.RATE, frame.time)
    found = {}
    for second, shown in first.items():
        near = [time - shown for time, which in reading.beeps if which == second % PITCHES and abs(time - shown) < 3]
        if near:
            found[second] = min(near, key=abs)
    return found
