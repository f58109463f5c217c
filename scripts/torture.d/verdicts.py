# SPDX-License-Identifier: Apache-2.0
"""Whether the program that was recorded is what the stream asks for."""
from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field

import media
from media import RATE
from reading import Frame, Reading, offsets
from stream import Sent, Shape

AV = 0.005
"""Seconds by which audio may be off against the sender's."""
BEFORE = 0.5
"""Seconds before a disturbance in which its effects may begin: what was under way is lost with it."""
BOUNDS = {"rtmp": 2.0, "srt": 2.0, "udp": 2.0, "rtsp": 4.0, "hls": 7.0, "http": 2.0, "file": 0.2}
"""Seconds after a disturbance until all is right again, by transport. A keyframe is at most one GOP away besides."""
BACKUP = 4.0
"""Seconds more where a backup was on air: a second of health, and a keyframe."""
STARTS = {"rtmp": 4.0, "srt": 4.0, "udp": 4.0, "rtsp": 14.0, "hls": 6.0, "http": 4.0, "file": 0.04}
"""Seconds from the first frame that can be shown to the program's first."""
TAILS = {"rtmp": 1.0, "srt": 1.5, "udp": 1.5, "rtsp": 2.5, "hls": 6.0, "http": 2.5, "file": 0.1}
"""Seconds at the sender's end that may still be in a buffer."""
WARNINGS = 25
"""Lines that an operator reads for one disturbance, at most."""
REORDERED = 4
"""Frames that can refer to one that is shown after them, at most."""
KEPT_MIB = 40
"""Mebibytes that relay may have in addition some time after a disturbance. In minutes of docs/scorecard.md it gets at
most 8 more, at 1280x720."""
SETTLED = 5.0
"""Seconds after a disturbance until memory is given back at the latest."""
MEMORY_MIB = 350
PICTURES = 40
"""Pictures that may be in memory at once, beside that."""


@dataclass
class Trial:
    """What was measured of one case."""

    transport: str
    use: str
    gop: float
    readings: list[Reading] = field(default_factory=list)
    sources: list[Reading] = field(default_factory=list)
    """The recordings of the source itself."""
    own: dict[int, float] = field(default_factory=dict)
    """The sender's own relation of audio to video."""
    log: list[str] = field(default_factory=list)
    status: int | None = 0
    """None where it had to be killed."""
    died: bool = False
    """Whether it ended before it was told to."""
    mebibytes: float = 0.0
    """The most that it took."""
    resident: list[tuple[float, float]] = field(default_factory=list)
    """How many mebibytes it had at each time of the case."""
    kept: float | None = None
    """How many more it had in the end than before a disturbance, if that was measured."""
    late: float = 0.0
    """How late the sender was, in seconds."""

    @property
    def copies(self) -> bool:
        return self.use in ("copy", "copy-video")


def bound(sent: Sent, trial: Trial) -> float:
    backup = BACKUP if trial.use == "backup" else 0.0
    return BOUNDS[trial.transport] + sent.bound + backup + (trial.gop if trial.transport != "file" else 0.0)


def faults(sent: Sent, trial: Trial) -> list[str]:
    """What is not as it must be."""
    found = life(sent, trial)
    if not trial.readings or not any(reading.shown for reading in trial.readings):
        return [*found, "nothing was recorded"]
    found += shape(sent, trial)
    if sent.numbered:
        found += pictures(sent, trial, trial.readings, trial.copies)
        for name in ("audible", "av"):
            if getattr(sent, name):
                found += sound(sent, trial)
                break
    if trial.sources:
        found += [f"recording of the source: {fault}" for fault in pictures(sent, trial, trial.sources, True)]
    elif trial.use == "record-sources":
        found.append("the source was not recorded")
    return found + words(sent, trial)


def life(sent: Sent, trial: Trial) -> list[str]:
    found = []
    if trial.status is None:
        found.append("does not end")
    elif trial.died or trial.status:
        found.append(f"ended {'by itself ' if trial.died else ''}with {trial.status}")
    width, height = max(sent.shape.size, (sent.later or sent.shape).size, sent.largest)
    most = MEMORY_MIB + PICTURES * width * height * 1.5 / 2**20
    if trial.mebibytes > most:
        found.append(f"took {trial.mebibytes:.0f} MiB of memory; {most:.0f} are the bound")
    return found + kept(sent, trial)


def kept(sent: Sent, trial: Trial) -> list[str]:
    """Memory that is not given back after a disturbance, if the case is long enough to tell."""
    if not sent.disturbed:
        return []
    begin, end = sent.disturbed[0][0], max(end for _, end in sent.disturbed)
    before = [size for at, size in trial.resident if begin - SETTLED <= at < begin]
    after = [size for at, size in trial.resident if at >= end + SETTLED]
    if len(before) < 5 or not after:
        return []
    trial.kept = min(after) - max(before)
    # Frames of another size that stay take more, or less.
    width, height = (sent.later or sent.shape).size
    most = KEPT_MIB + PICTURES * max(0.0, width * height - media.WIDTH * media.HEIGHT) * 1.5 / 2**20
    return [f"has {trial.kept:.0f} MiB of memory more than before; {most:.0f} are the bound"] * (trial.kept > most)


def shape(sent: Sent, trial: Trial) -> list[str]:
    found = like(sent.shape, trial.readings[0], "the program", not trial.copies)
    if sent.later and trial.copies:
        found += like(sent.later, trial.readings[-1], "the last file", False)
    if sent.audible and not any(reading.audio for reading in trial.readings):
        found.append("the program has no audio")
    return found


def like(wanted: Shape, reading: Reading, name: str, rated: bool) -> list[str]:
    found = []
    if reading.size != wanted.size:
        found.append(f"{name} is {reading.size[0]}x{reading.size[1]} instead of {wanted.size[0]}x{wanted.size[1]}")
    if reading.aspect not in (wanted.aspect, "N/A" if wanted.aspect == "1:1" else wanted.aspect):
        found.append(f"{name} has pixels of {reading.aspect} instead of {wanted.aspect}")
    if rated and reading.shown > 5 and abs(reading.rate - wanted.rate) > wanted.rate * 0.03:
        found.append(f"{name} has {reading.rate:.2f} frames a second instead of {wanted.rate:g}")
    return found


def due_of(sent: Sent) -> dict[int, float]:
    """When each frame was sent last by a sender that is shown."""
    return {unit.number: unit.due for session in sent.sessions if not session.intrudes for unit in session.units
            if unit.number >= 0}


def trimmed(readings: list[Reading]) -> list[list[Frame]]:
    """The frames of each file, without what stands still at the beginning and at the end of all."""
    files = [list(reading.frames) for reading in readings if reading.frames]
    if files:
        head, tail = files[0], files[-1]
        while len(head) > 1 and (head[0].number < 0 or head[0].number == head[1].number):
            head.pop(0)
        known = [frame.number for frame in tail if frame.number >= 0]
        while len(tail) > 1 and known and (tail[-1].number < 0 or tail[-1].number == tail[-2].number):
            tail.pop()
    return files


def once(frames: list[Frame]) -> list[Frame]:
    """The frames without those that have the number of the one before them."""
    return [frame for index, frame in enumerate(frames) if not index or frame.number != frames[index - 1].number]


def wrong_steps(files: list[list[Frame]], dues: dict[int, float], frame: float = 1 / RATE) -> list[tuple[float, str]]:
    """Each step from a frame to the next that is not to the following number, a frame later: when, and what."""
    found, at, highest = [], 0.0, -1
    for index, frames in enumerate(files):
        before: Frame | None = None
        for shown in frames:
            # A decoder may conceal a damaged frame with an old one, which does not say when that is.
            if shown.number >= (before.number if before else 0) and shown.number >= 0:
                at = dues.get(shown.number, at)
            elif before:
                at += shown.time - before.time
            if before is None:
                if index and highest >= 0 and shown.number != highest + 1:
                    found.append((at, f"{highest} to {shown.number}"))
            elif shown.number != before.number + 1 or before.number < 0:
                found.append((at, f"{before.number} to {shown.number}"))
            elif abs(shown.time - before.time - frame) > frame / 2:
                found.append((at, f"{before.number} lasts {shown.time - before.time:.3f} s"))
            before = shown
            highest = shown.number if shown.number >= 0 else highest
    return found


def is_excused(sent: Sent, trial: Trial, at: float) -> bool:
    more = bound(sent, trial)
    return any(begin - BEFORE <= at <= end + more for begin, end in sent.disturbed)


def judged_until(sent: Sent, trial: Trial, dues: dict[int, float]) -> float:
    """The time until which all frames and all sound must have come. A part of the sender's last moments may come."""
    return max(dues.values()) - TAILS[trial.transport] if sent.units else math.inf


def pictures(sent: Sent, trial: Trial, readings: list[Reading], copied: bool) -> list[str]:
    dues = due_of(sent) or {number: number / RATE for number in range(10_000)}
    files = trimmed(readings)
    if copied and sent.doubled:
        files = [once(frames) for frames in files]
    shown = [frame for frames in files for frame in frames if frame.number >= 0]
    if not shown:
        return ["no frame can be read"]
    found = []
    first, last = dues.get(shown[0].number, 0.0), max(dues.get(frame.number, 0.0) for frame in shown)
    if sent.frames:
        # A copy of a file that is cut between two keyframes begins with the second one, and it lacks frames at the end
        # that refer to one that is cut off.
        late, early = (round(trial.gop * RATE), REORDERED) if copied else (0, 0)
        highest = max(frame.number for frame in shown)
        if shown[0].number > sent.frames[0] + late or highest < sent.frames[1] - early:
            found.append(f"shows frames {shown[0].number} to {shown[-1].number} instead of {sent.frames[0]} to "
                         f"{sent.frames[1]}")
        if sent.frames and shown[0].number < sent.frames[0]:
            found.append(f"begins with frame {shown[0].number}, which is cut off")
    else:
        limit = sent.begins + STARTS[trial.transport] + trial.gop + sent.bound
        if not is_excused(sent, trial, first) and first > limit:
            found.append(f"begins {first:.1f} s after the sender; {limit:.1f} s are the bound")
        end = max(dues.values()) - TAILS[trial.transport]
        if last < end and not is_excused(sent, trial, end):
            found.append(f"shows nothing after {last:.1f} of {max(dues.values()):.1f} s")
    end = judged_until(sent, trial, dues)
    if sent.frames:
        end = sent.frames[1] / RATE
    wrong = [(at, what) for at, what in wrong_steps(files, dues) if not is_excused(sent, trial, at) and at < end]
    if wrong:
        found.append(f"{len(wrong)} wrong steps outside of a disturbance and {bound(sent, trial):.1f} s after it, the "
                     f"first at {wrong[0][0]:.1f} s: {wrong[0][1]}")
    return found + ([] if copied else places(sent, trial, shown, dues))


def places(sent: Sent, trial: Trial, shown: list[Frame], dues: dict[int, float]) -> list[str]:
    """Whether the picture is where its shape puts it."""
    for begin, region in sent.moves:
        wrong = [frame for frame in shown if frame.number >= begin and frame.region != region
                 and not is_excused(sent, trial, dues.get(frame.number, 0.0))]
        if wrong:
            return [f"{len(wrong)} frames from {wrong[0].number} on do not have the shape that they are sent with"]
    return []


def sound(sent: Sent, trial: Trial) -> list[str]:
    """Missing beeps, and those that are off."""
    found: list[str] = []
    dues = due_of(sent) or {number: number / RATE for number in range(10_000)}
    end = judged_until(sent, trial, dues)
    for reading in trial.readings:
        off = offsets(reading)
        numbers = [frame.number for frame in reading.frames if frame.number >= 0]
        seconds = [number // RATE for number in numbers if number % RATE == 0]
        for second in sorted(set(seconds)):
            at = dues.get(second * RATE, 0.0)
            if is_excused(sent, trial, at) or second * RATE in (numbers[0], numbers[-1]) or second not in trial.own:
                continue
            if at >= end and second not in off:
                continue
            if sent.frames and second * RATE > sent.frames[1]:
                continue  # of what comes behind that, a part may be there
            if second not in off:
                found.append(f"no beep of second {second}")
            elif sent.av and abs(off[second] - trial.own[second]) > AV:
                found.append(f"audio of second {second} is {(off[second] - trial.own[second]) * 1000:+.0f} ms off")
    return found if len(found) < 4 else [*found[:3], f"and {len(found) - 3} more of audio"]


def entries(log: list[str]) -> list[dict]:
    """The lines of the log that are JSON."""
    found = []
    for line in log:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def words(sent: Sent, trial: Trial) -> list[str]:
    """Whether an operator is told, and not told too much."""
    said = entries(trial.log)
    found = []
    if sent.says and not any(re.search(sent.says, json.dumps(entry), re.IGNORECASE)
                             for entry in said):
        found.append("nothing in the log tells of it")
    warnings = sum(entry.get("level") in ("warning", "error") for entry in said)
    if warnings > WARNINGS:
        found.append(f"{warnings} warnings")
    if any(re.search("Fatal error|panic|Segmentation|AddressSanitizer|ThreadSanitizer", line) for line in trial.log):
        found.append("the log has a crash")
    return found
