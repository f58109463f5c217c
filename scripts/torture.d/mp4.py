# SPDX-License-Identifier: Apache-2.0
"""What is done to the boxes of an MP4 file (ISO/IEC 14496-12)."""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

CONTAINERS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts"}
Box = tuple[bytes, bytes]
"""Kind and contents."""


def boxes(data: bytes) -> Iterator[Box]:
    """The boxes in `data`, whole ones only."""
    at = 0
    while at + 8 <= len(data):
        size, head = int.from_bytes(data[at:at + 4], "big"), 8
        if size == 1:
            size, head = int.from_bytes(data[at + 8:at + 16], "big"), 16
        if size == 0:
            size = len(data) - at
        if size < head or at + size > len(data):
            return
        yield data[at + 4:at + 8], data[at + head:at + size]
        at += size


def box(kind: bytes, contents: bytes) -> bytes:
    return struct.pack(">I", len(contents) + 8) + kind + contents


def change(data: bytes, path: tuple[bytes, ...], edit: Callable[[bytes], bytes | None]) -> bytes:
    """The boxes with each one at `path` replaced by what `edit` makes of its contents; none leaves it out."""
    out = []
    for kind, contents in boxes(data):
        if kind == path[0]:
            changed = edit(contents) if len(path) == 1 else change(contents, path[1:], edit)
            if changed is None:
                continue
            contents = changed
        out.append(box(kind, contents))
    return b"".join(out)


def is_video(track: bytes) -> bool:
    media = dict(boxes(dict(boxes(track)).get(b"mdia", b"")))
    return media.get(b"hdlr", bytes(12))[8:12] == b"vide"


def rotate(data: bytes, quarters: int) -> bytes:
    """Turns the picture clockwise by the matrix of the video's track header. The file's `moov` must be last."""
    turn = {0: (1, 0, 0, 1), 1: (0, 1, -1, 0), 2: (-1, 0, 0, -1), 3: (0, -1, 1, 0)}[quarters % 4]
    a, b, c, d = (value << 16 for value in turn)
    matrix = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)

    def header(contents: bytes) -> bytes:
        at = 52 if contents[0] == 1 else 40
        return contents[:at] + matrix + contents[at + 36:]

    return change(data, (b"moov", b"trak"),
                  lambda track: change(track, (b"tkhd",), header) if is_video(track) else track)


def timescales(data: bytes) -> tuple[int, dict[bool, int]]:
    """Ticks a second of the movie, and of its video (true) and audio (false)."""
    movie = dict(boxes(data))[b"moov"]
    scale = struct.unpack(">I", dict(boxes(movie))[b"mvhd"][12:16])[0]
    tracks = {}
    for kind, track in boxes(movie):
        if kind == b"trak":
            header = dict(boxes(dict(boxes(track))[b"mdia"]))[b"mdhd"]
            tracks[is_video(track)] = struct.unpack(">I", header[12:16])[0]
    return scale, tracks


def cut_by_edit(data: bytes, begin: float, length: float, delay: float = 0.0) -> bytes:
    """Shows both tracks from `begin` on for `length` seconds, behind an empty edit of `delay`: the samples remain."""
    scale, tracks = timescales(data)

    def edited(track: bytes) -> bytes:
        is_picture = is_video(track)
        entries = [(round(delay * scale), -1)] if delay else []
        # Presentation begins where the first edit of ffmpeg's own did.
        first = start_of(track)
        entries.append((round(length * scale), first + round(begin * tracks[is_picture])))
        table = struct.pack(">II", 0, len(entries))
        table += b"".join(struct.pack(">IiI", ticks, media, 1 << 16) for ticks, media in entries)
        without = b"".join(box(kind, contents) for kind, contents in boxes(track) if kind != b"edts")
        head, rest = next(boxes(without)), list(boxes(without))[1:]
        return box(*head) + box(b"edts", box(b"elst", table)) + b"".join(box(*part) for part in rest)

    return change(data, (b"moov", b"trak"), edited)


def start_of(track: bytes) -> int:
    """The media time of the first edit that is not empty, in the track's ticks."""
    edits = dict(boxes(dict(boxes(track)).get(b"edts", b""))).get(b"elst", b"")
    for at in range(8, len(edits) - 11, 12):
        media = struct.unpack(">i", edits[at + 4:at + 8])[0]
        if media >= 0:
            return media
    return 0


def cut_off(data: bytes, part: float) -> bytes:
    """The first part of a file whose writer was killed."""
    return data[:round(len(data) * part)]
