# SPDX-License-Identifier: Apache-2.0
"""The kinds whose stream is right, and whose network or server is not; and those that disturb relay twice."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import stamps
from media import RATE, Coding, Unit
from stream import Fault, Sent, Session, Studio

CALLED = ("rtsp", "hls", "http")
"""Those that relay connects to."""
LINKED = ("rtmp", "srt", *CALLED)
"""Those that have connections."""
GIVES_UP = 10.0
"""Seconds after which relay gives up a server that says nothing."""
TAKEN_OVER = 3.0
"""Seconds of silence after which relay takes another publisher."""
AGAIN = 3.0
"""Seconds until a sender is shown that connects again, beside the time until it sends a keyframe."""
PAUSE = 5.0
"""Seconds at most until relay calls a server again that could not be reached."""
AHEAD = 2.0
"""Seconds that relay has in its buffer of HLS at least."""
DECODED = 0.2
"""Seconds at the end of a segment that are shown only when the next one comes: they are in the demuxer and decoder."""
LATER = 3.0
"""Seconds of the stream behind a disturbance and its bound."""


def again(studio: Studio, seconds: float) -> float:
    """The bound after a loss of the connection for so long."""
    return AGAIN + (min(PAUSE, 2 + seconds) if studio.transport in CALLED else 0.0)


def long(studio: Studio, seconds: float, bound: float) -> list[Unit]:
    """A usual stream that is long enough for a disturbance and for what comes after it."""
    # What of the stream's end may not be shown comes in addition.
    bound += {"rtsp": 6.5, "hls": 13.0}.get(studio.transport, 3.5) + (4.0 if studio.use == "backup" else 0.0)
    return studio.plain(frames=max(studio.frames, round((studio.at + seconds + bound + LATER) * RATE)))


def faulty(studio: Studio, told: str, fault: Fault, bound: float, **more: object) -> Sent:
    until = fault.end
    units = long(studio, until - studio.at, bound)
    values = {"disturbed": [(fault.begin, until)], "bound": bound, **more}
    return Sent(told, [Session(units)], faults=[fault], **values)  # type: ignore[arg-type]


def cut(studio: Studio) -> Sent:
    seconds = studio.rng.choice([0.1, 1.0] if studio.short else [0.1, 1.0, 10.0])
    restamps = studio.transport == "rtmp" and studio.rng.random() < 0.5
    return faulty(studio, f"connections are reset, and none can be made for {seconds} s"
                  + ("; stamps begin again at 0" if restamps else ""),
                  Fault("cut", studio.at, studio.at + seconds), again(studio, seconds), restamps=restamps)


def freeze(studio: Studio) -> Sent:
    seconds = studio.rng.choice([0.1, 1.0] if studio.short else [0.1, 1.0, 10.0])
    buffered = AHEAD if studio.transport == "hls" else 0.1
    fault = Fault("freeze", studio.at, studio.at + seconds)
    whole = {"disturbed": []} if seconds <= buffered else {}
    return faulty(studio, f"nothing passes for {seconds} s, and no connection ends", fault,
                  again(studio, seconds) if seconds >= 5 else 1.0, **whole)


def dead(studio: Studio) -> Sent:
    """The sender's machine is gone, and a moment later there is another one: the first connection stays open."""
    seconds, at = studio.pick(0.5, 4), studio.at
    known = GIVES_UP if studio.transport in CALLED else TAKEN_OVER
    fault = Fault("dead", at, at + seconds)
    units = long(studio, max(seconds, known), again(studio, 0.0))
    # The segment that ends when the connection falls silent does not come.
    lacks = studio.held + DECODED if studio.held else 0.0
    return Sent(f"connections fall silent and stay open; after {seconds} s new ones can be used",
                [Session(units)], faults=[fault], disturbed=[(at - lacks, at + max(seconds, known))],
                bound=again(studio, 0.0))


def slow(studio: Studio) -> Sent:
    # A second of HLS needs two answers.
    seconds = studio.pick(0.1, 0.4 if studio.transport == "hls" else 2)
    answers = {"rtsp": 6, "hls": 10}.get(studio.transport, 2)
    return Sent(f"each answer comes {seconds} s late", [Session(long(studio, 0.0, 0.0))],
                faults=[Fault("slow", 0.0, 1e4, seconds)], begins=answers * seconds)


def starved(studio: Studio) -> Sent:
    seconds, at = studio.pick(2, 2.5 if studio.short else 6), studio.at
    bound = again(studio, seconds)
    return Sent(f"no file descriptor is free for {seconds} s, and connections are reset then",
                [Session(long(studio, seconds, bound))], faults=[Fault("cut", at + 0.3, at + 0.4)],
                starved=(at, at + seconds), disturbed=[(at, at + seconds)], bound=bound,
                says="(descriptor|open files|files can be opened)")


FAR = 1000.0
"""Seconds by which stamps jump at most."""
JUMP = "is followed by stamps that jumped"
SECOND: dict[str, Callable[[Studio, list[Unit], float, float], list[Unit]]] = {
    "is lost": lambda studio, units, at, length: stamps.paused(units, at, length),
    "is sent at once after a pause": lambda studio, units, at, length: stamps.held(units, at, length),
    "has no audio": lambda studio, units, at, length: stamps.without(units, "audio", at, at + length),
    "has no video": lambda studio, units, at, length: stamps.without(units, "video", at, at + length),
    "has wrong bits": lambda studio, units, at, length: stamps.damaged(units, at, at + length, 5, studio.rng),
    JUMP: lambda studio, units, at, length: stamps.jump(
        stamps.shift(units, FAR, lambda unit: True), at + length, studio.pick(0.5, FAR) * studio.rng.choice([1, -1])),
}
"""What can be done to units for a time."""


def two(studio: Studio) -> Sent:
    """Two disturbances of different kinds, the second while relay recovers from the first."""
    most = 1 if studio.short else 2
    lengths = studio.pick(0.2, most), studio.pick(0.2, most)
    first, gap = studio.at, studio.pick(0.1, most)
    second = round(first + lengths[0] + gap, 2)
    known = [*SECOND, *(["network"] if studio.transport in LINKED else [])]
    # What ffmpeg hands on by RTSP must have stamps that grow.
    words = studio.rng.sample([word for word in known if word != JUMP or studio.transport != "rtsp"], 2)
    bound = again(studio, 1.0) + 1.0
    units, faults, told = long(studio, second + lengths[1] - first, bound), [], []
    for word, at, length in zip(words, (first, second), lengths):
        if word == "network":
            how = studio.rng.choice(["freeze"] if studio.transport == "srt" else ["cut", "freeze"])
            faults.append(Fault(how, at, at + length))
            told.append(f"{length} s of {how}")
        else:
            units = SECOND[word](studio, units, at, length)
            told.append(f"{length} s {word}")
    return Sent(f"{told[0]}; {gap} s later {told[1]}", [Session(units)], faults=faults, bound=bound,
                disturbed=[(at - studio.held, at + length) for at, length in zip((first, second), lengths)])


def guest(studio: Studio) -> Sent:
    """A sender of huge frames for a while, between those of the usual one."""
    size = studio.rng.choice([(1920, 1080)] if studio.short else [(3840, 2160), (8192, 4352)])
    at, stays = 8.0, 3.0
    back = at + stays + 1
    units = studio.plain(frames=round((back + 11) * RATE))
    key = next(unit for unit in units if unit.key and unit.due >= back)
    # Its numbers are those of the frames that the usual sender would have sent.
    coding = Coding(begin=round((at + 0.5) * RATE), frames=round(stays * RATE), size=size, rate=5, bframes=0)
    huge = [replace(unit, number=-1) for unit in studio.clip(coding).units]
    second = [replace(units[0], due=key.due), *[unit for unit in units if unit.due >= key.due]]
    return Sent(f"a guest of {size[0]}x{size[1]} after {at:.0f} s for {stays:.0f} s",
                [Session([unit for unit in units if unit.due < at]), Session(huge),
                 Session([replace(unit, time=max(0.0, unit.time - key.time)) for unit in second])],
                disturbed=[(at, key.due)], bound=AGAIN + 1, largest=size)
