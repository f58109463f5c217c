# SPDX-License-Identifier: Apache-2.0
"""Units as an MPEG transport stream (ISO/IEC 13818-1), and what is done to its packets."""
from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from media import Unit
from stamps import flipped

PACKET = 188
PMT_PID = 0x1000
VIDEO, AUDIO = 0x100, 0x101
AVC, HEVC = 0x1B, 0x24
"""Stream types (ISO/IEC 13818-1, table 2-34). The body of a unit whose tag is HEVC has start codes already."""
TABLES_EVERY = 0.4
LEAD = 0.3
"""Seconds by which the clock is behind the decoding times, so that a receiver has time."""
RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000)
Timed = tuple[float, bytes]
"""When a packet is due, and the packet."""


@dataclass(frozen=True)
class Program:
    """What the program map says."""

    video: int = VIDEO
    audio: int = AUDIO
    version: int = 0
    coding: int = AVC
    """The stream type of the video."""


def checksum(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7) & 0xFFFFFFFF if crc & 0x80000000 else crc << 1
    return crc


def section(table: int, extension: int, version: int, body: bytes) -> bytes:
    length = len(body) + 9
    head = bytes([table, 0xB0 | length >> 8, length & 255]) + extension.to_bytes(2, "big")
    data = head + bytes([0xC1 | version << 1, 0, 0]) + body
    return data + checksum(data).to_bytes(4, "big")


def annex_b(unit: Unit) -> bytes:
    """The access unit with start codes, and its parameter sets before a keyframe."""
    if unit.tag == HEVC:
        return unit.body
    out = [b"\0\0\0\1\x09\xf0"]
    size = (unit.config[4] & 3) + 1
    if unit.key:
        out += [b"\0\0\0\1" + parameters for parameters in parameter_sets(unit.config)]
    at = 0
    while at + size <= len(unit.body):
        length = int.from_bytes(unit.body[at:at + size], "big")
        out.append(b"\0\0\0\1" + unit.body[at + size:at + size + length])
        at += size + length
    return b"".join(out)


def access_units(data: bytes) -> list[bytes]:
    """The access units of a stream of HEVC, each of which begins with a delimiter (ITU-T H.265, 7.4.2.4.4)."""
    mark = b"\0\0\0\1\x46\1"
    return [mark + part for part in data.split(mark)[1:]]


def parameter_sets(config: bytes) -> list[bytes]:
    """The parameter sets in an avcC."""
    found, at = [], 5
    for mask in (31, 255):
        count, at = config[at] & mask, at + 1
        for _ in range(count):
            length = int.from_bytes(config[at:at + 2], "big")
            found.append(config[at + 2:at + 2 + length])
            at += 2 + length
    return found


def adts(unit: Unit) -> bytes:
    """The packet of AAC behind an ADTS header (ISO/IEC 13818-7, 6.2)."""
    profile, rate = (unit.config[0] >> 3) - 1, (unit.config[0] & 7) << 1 | unit.config[1] >> 7
    channels, length = unit.config[1] >> 3 & 15, len(unit.body) + 7
    head = bytes([0xFF, 0xF1, profile << 6 | rate << 2 | channels >> 2, (channels & 3) << 6 | length >> 11,
                  length >> 3 & 255, (length & 7) << 5 | 0x1F, 0xFC])
    return head + unit.body


def stamp(mark: int, time: float) -> bytes:
    ticks = round(time * 90000) & (1 << 33) - 1
    return bytes([mark << 4 | ticks >> 29 & 14 | 1, ticks >> 22 & 255, ticks >> 14 & 254 | 1, ticks >> 7 & 255,
                  ticks << 1 & 254 | 1])


def pes(unit: Unit) -> bytes:
    is_video = unit.kind == "video"
    data = annex_b(unit) if is_video else adts(unit)
    if math.isnan(unit.time):
        fields, flags = b"", 0
    elif is_video:
        fields, flags = stamp(3, LEAD + unit.time + unit.offset) + stamp(1, LEAD + unit.time), 0xC0
    else:
        fields, flags = stamp(2, LEAD + unit.time), 0x80
    length = 0 if is_video else len(data) + 3 + len(fields)
    head = b"\0\0\1" + (b"\xe0" if is_video else b"\xc0") + length.to_bytes(2, "big")
    return head + bytes([0x84, flags, len(fields)]) + fields + data


class Muxer:
    """Makes packets of units. The clock's time is the video's decoding time, or the audio's where there is no video."""

    def __init__(self, program: Program = Program()) -> None:
        self.program = program
        self.counters: dict[int, int] = {}
        self.tables = -math.inf

    def packets(self, pid: int, data: bytes, clock: float | None, key: bool = False) -> list[bytes]:
        found, first = [], True
        while data or first:
            counter = self.counters[pid] = (self.counters.get(pid, -1) + 1) & 15
            field = b""
            if first and clock is not None and not math.isnan(clock):
                base = round(clock * 90000) & (1 << 33) - 1
                field = bytes([0x50 if key else 0x10]) + (base << 15 | 0x7E00).to_bytes(6, "big")
            room = PACKET - 4
            if field:
                field = bytes([len(field)]) + field
            spare = room - len(field) - len(data)
            if spare > 0:
                if not field:
                    field = b"\0" if spare == 1 else b"\1\0"
                    spare -= len(field)
                field = bytes([field[0] + spare]) + field[1:] + b"\xff" * spare
            head = bytes([0x47, (0x40 if first else 0) | pid >> 8, pid & 255, (0x30 if field else 0x10) | counter])
            taken = room - len(field)
            found.append(head + field + data[:taken])
            data, first = data[taken:], False
        return found

    def psi(self) -> list[bytes]:
        program = self.program
        streams = [(program.coding, program.video), (0x0F, program.audio)]
        body = bytes([0xE0 | program.video >> 8, program.video & 255, 0xF0, 0])
        for kind, pid in streams:
            body += bytes([kind, 0xE0 | pid >> 8, pid & 255, 0xF0, 0])
        association = section(0, 1, 0, b"\0\1" + (0xE000 | PMT_PID).to_bytes(2, "big"))
        return self.table(0, association) + self.table(PMT_PID, section(2, 1, program.version, body))

    def table(self, pid: int, data: bytes) -> list[bytes]:
        return self.packets(pid, (b"\0" + data).ljust(PACKET - 4, b"\xff"), None)

    def change(self, program: Program) -> None:
        self.program, self.tables = program, -math.inf

    def of(self, unit: Unit) -> list[bytes]:
        if unit.kind == "data" or not unit.body:
            return []
        found = []
        if unit.due - self.tables >= TABLES_EVERY or unit.key:
            self.tables = unit.due
            found += self.psi()
        pid = self.program.video if unit.kind == "video" else self.program.audio
        return found + self.packets(pid, pes(unit), unit.time if unit.kind == "video" else None, unit.key)


def stream(units: Iterable[Unit], changes: Sequence[tuple[float, Program]] = ()) -> Iterator[Timed]:
    """The packets of units. `changes` are program maps and when they come in force."""
    muxer, waiting = Muxer(), list(changes)
    for unit in units:
        while waiting and unit.due >= waiting[0][0]:
            muxer.change(waiting.pop(0)[1])
        for packet in muxer.of(unit):
            yield unit.due, packet


def filled(data: bytes, size: int) -> bytes:
    """The packets, with null packets behind them up to a multiple of a size."""
    null = b"\x47\x1f\xff\x10" + b"\xff" * (PACKET - 4)
    return data + null * (-len(data) % size // PACKET)


def begin_at(packets: Sequence[Timed], index: int) -> list[Timed]:
    """Leaves out the packets before `index`, wherever in a frame that is."""
    return list(packets[index:])


def lose(packets: Sequence[Timed], begin: float, end: float, every: int) -> list[Timed]:
    """Leaves out each `every`-th packet that is due between two times."""
    return [packet for index, packet in enumerate(packets) if not begin <= packet[0] < end or index % every]


def flip(packets: Sequence[Timed], begin: float, end: float, every: int, rng: random.Random) -> list[Timed]:
    """Flips a bit behind the header of each `every`-th packet that is due between two times."""
    return [(due, flipped(packet, 4, rng)) if begin <= due < end and index % every == 0 else (due, packet)
            for index, (due, packet) in enumerate(packets)]
