# SPDX-License-Identifier: Apache-2.0
"""Units as fragmented MP4 (ISO/IEC 14496-12, 8.8): an initialization section, and segments of one fragment each."""
from __future__ import annotations

import struct

from media import RATE, Coding, Unit
from mp4 import box

SCALE = 90_000
TRACKS = {"video": 1, "audio": 2}
MATRIX = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
SYNC, OTHER = 0x0200_0000, 0x0101_0000
"""Flags of a sample that is a keyframe, and of any other sample."""


def full(kind: bytes, contents: bytes, flags: int = 0, version: int = 0) -> bytes:
    return box(kind, struct.pack(">I", version << 24 | flags) + contents)


def described(kind: str, coding: Coding, config: bytes) -> bytes:
    """The sample entry of a track (8.5.2; ISO/IEC 14496-15, 5.4.2; ISO/IEC 14496-14, 5.6)."""
    head = bytes(6) + b"\0\1"
    if kind == "video":
        shape = struct.pack(">HHIIIH", *coding.size, 0x48_0000, 0x48_0000, 0, 1)
        return box(b"avc1", head + bytes(16) + shape + bytes(32) + b"\0\x18\xff\xff" + box(b"avcC", config))
    specific = bytes([5, len(config)]) + config
    decoder = b"\x40\x15" + bytes(11) + specific
    stream = bytes(3) + bytes([4, len(decoder)]) + decoder + b"\6\1\2"
    sound = bytes(8) + struct.pack(">HHII", coding.channels, 16, 0, coding.samples << 16)
    return box(b"mp4a", head + sound + full(b"esds", bytes([3, len(stream)]) + stream))


def track(kind: str, coding: Coding, config: bytes) -> bytes:
    """A track without samples."""
    is_video = kind == "video"
    width, height = coding.size if is_video else (0, 0)
    header = full(b"tkhd", struct.pack(">8xI20xHxx", TRACKS[kind], 0 if is_video else 0x100) + MATRIX + struct.pack(
        ">II", width << 16, height << 16), 3)
    handler = full(b"hdlr", bytes(4) + (b"vide" if is_video else b"soun") + bytes(13))
    source = box(b"dinf", full(b"dref", struct.pack(">I", 1) + full(b"url ", b"", 1)))
    tables = b"".join(full(name, bytes(4)) for name in (b"stts", b"stsc", b"stco")) + full(b"stsz", bytes(8))
    table = box(b"stbl", full(b"stsd", struct.pack(">I", 1) + described(kind, coding, config)) + tables)
    kind_header = full(b"vmhd", bytes(8), 1) if is_video else full(b"smhd", bytes(4))
    media = full(b"mdhd", struct.pack(">8xIIHxx", SCALE, 0, 0x55C4)) + handler + box(
        b"minf", kind_header + source + table)
    return box(b"trak", header + box(b"mdia", media))


def section(coding: Coding, units: list[Unit]) -> bytes:
    """The initialization section of units of one coding."""
    configs = {kind: next(unit.config for unit in units if unit.kind == kind) for kind in TRACKS}
    movie = full(b"mvhd", struct.pack(">8xIIIH10x", SCALE, 0, 1 << 16, 0x100) + MATRIX + bytes(24) + b"\0\0\0\3")
    defaults = b"".join(full(b"trex", struct.pack(">IIIII", number, 1, 0, 0, 0)) for number in TRACKS.values())
    tracks = b"".join(track(kind, coding, configs[kind]) for kind in TRACKS)
    return box(b"ftyp", b"iso6\0\0\0\1iso6mp41") + box(b"moov", movie + tracks + box(b"mvex", defaults))


def ticks(time: float) -> int:
    return round(time * SCALE)


def run(number: int, units: list[Unit], at: int) -> bytes:
    """The fragment of one track, whose first sample is `at` bytes behind the fragment's begin (8.8.6 to 8.8.12)."""
    last = units[-1].time + (1 / RATE if number == TRACKS["video"] else units[-1].time - units[-2].time)
    ends = [unit.time for unit in units[1:]] + [last]
    samples = b"".join(
        struct.pack(">IIIi", ticks(end) - ticks(unit.time), len(unit.body), SYNC if unit.key or number == 2 else OTHER,
                    ticks(unit.offset)) for unit, end in zip(units, ends))
    base = full(b"tfdt", struct.pack(">Q", ticks(units[0].time)), version=1)
    table = full(b"trun", struct.pack(">Ii", len(units), at) + samples, 0xF01, 1)
    return box(b"traf", full(b"tfhd", struct.pack(">I", number), 0x20000) + base + table)


def segment(number: int, units: list[Unit]) -> bytes:
    """A fragment of units in the order of their decoding."""
    kinds = [(track, [unit for unit in units if unit.kind == kind]) for kind, track in TRACKS.items()]
    kinds = [(track, found) for track, found in kinds if found]
    data = [b"".join(unit.body for unit in found) for _, found in kinds]

    def fragment(begin: int) -> bytes:
        places = [begin + sum(map(len, data[:index])) for index in range(len(data))]
        return box(b"moof", full(b"mfhd", struct.pack(">I", number)) + b"".join(
            run(track, found, at) for (track, found), at in zip(kinds, places)))

    return fragment(len(fragment(0)) + 8) + box(b"mdat", b"".join(data))
