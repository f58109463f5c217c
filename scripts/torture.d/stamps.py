# SPDX-License-Identifier: Apache-2.0
"""Mutators of units: what is sent, when, and with which stamps. None of them changes the units that it is given."""
from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from media import Unit

Choice = Callable[[Unit], bool]
HEAD = 8
"""Bytes of a frame that stay whole: the length and the header of its first NAL unit."""


def shift(units: list[Unit], by: float, chosen: Choice) -> list[Unit]:
    """Adds seconds to the stamps of some."""
    return [replace(unit, time=unit.time + by) if chosen(unit) else unit for unit in units]


def outlier(units: list[Unit], kind: str, due: float, by: float) -> list[Unit]:
    """One stamp is off: that of the first unit of its kind that is sent at `due` or later."""
    one = next(unit for unit in units if unit.kind == kind and unit.due >= due)
    return shift(units, by, lambda unit: unit is one)


def jump(units: list[Unit], due: float, by: float) -> list[Unit]:
    """All stamps from `due` on are off."""
    return shift(units, by, lambda unit: unit.due >= due)


def repeated(units: list[Unit], kind: str, due: float, count: int) -> list[Unit]:
    """So many units have the stamp of the one before them."""
    out, left, last = [], count, None
    for unit in units:
        if unit.kind == kind and unit.due >= due:
            if last is not None and left:
                unit, left = replace(unit, time=last), left - 1
            last = unit.time
        out.append(unit)
    return out


def unstamped(units: list[Unit], kind: str, begin: float, end: float) -> list[Unit]:
    """Nothing stamps units between two times, as a transport stream allows."""
    return [replace(unit, time=math.nan) if unit.kind == kind and begin <= unit.due < end else unit for unit in units]


def held(units: list[Unit], begin: float, length: float) -> list[Unit]:
    """The sender sends nothing for so long, and then all that it has, at once."""
    return [replace(unit, due=begin + length) if begin <= unit.due < begin + length else unit for unit in units]


def paused(units: list[Unit], begin: float, length: float) -> list[Unit]:
    """What is sent in a time is lost."""
    return [unit for unit in units if not begin <= unit.due < begin + length]


def without(units: list[Unit], kind: str, begin: float, end: float = math.inf) -> list[Unit]:
    """One kind of units is left out between two times."""
    return [unit for unit in units if unit.kind != kind or not begin <= unit.due < end]


def late(units: list[Unit], kind: str, by: float) -> list[Unit]:
    """One kind of units is sent later, with the stamps that it has."""
    moved = [replace(unit, due=unit.due + by) if unit.kind == kind else unit for unit in units]
    return sorted(moved, key=lambda unit: unit.due)


def moved(units: list[Unit], by: float) -> list[Unit]:
    """All is sent later, with the stamps that it has."""
    return [replace(unit, due=max(0.0, unit.due + by)) for unit in units]


def damaged(units: list[Unit], begin: float, end: float, every: int, rng: random.Random) -> list[Unit]:
    """Flips a bit of each `every`-th frame or packet of audio that is due between two times, behind its first bytes."""
    out, count = [], 0
    for unit in units:
        if unit.kind != "data" and begin <= unit.due < end and len(unit.body) > HEAD:
            if count % every == 0:
                unit = replace(unit, body=flipped(unit.body, HEAD, rng))
            count += 1
        out.append(unit)
    return out


def flipped(data: bytes, begin: int, rng: random.Random) -> bytes:
    """Flips a bit of a byte from `begin` on."""
    at = rng.randrange(begin, len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]


def negative(units: list[Unit], by: float) -> list[Unit]:
    """Video is stamped later for decoding and shown when it was: its composition offsets become negative."""
    return [replace(unit, time=unit.time + by, offset=unit.offset - by) if unit.kind == "video" else unit
            for unit in units]


def short_lengths(units: list[Unit]) -> list[Unit]:
    """NAL units have lengths of two bytes. The frames must be smaller than 64 KiB."""
    out = []
    for unit in units:
        if unit.kind == "video":
            body, at = b"", 0
            while at + 4 <= len(unit.body):
                length = int.from_bytes(unit.body[at:at + 4], "big")
                body += length.to_bytes(2, "big") + unit.body[at + 4:at + 4 + length]
                at += 4 + length
            config = unit.config[:4] + bytes([unit.config[4] & ~3 | 1]) + unit.config[5:]
            unit = replace(unit, body=body, config=config)
        out.append(unit)
    return out
