# SPDX-License-Identifier: Apache-2.0
"""Coded frames, told apart by the bytes of their slices, in whatever container they come."""
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

SLICE, IDR = 1, 5
AAC = 10


@dataclass(frozen=True)
class Frame:
    """One coded frame as it was received. Times in seconds."""

    arrived: float
    connection: int
    decode_time: float
    is_key: bool
    is_reference: bool
    identity: str

    def line(self) -> str:
        return (f"frame {self.arrived:.6f} {self.connection} {self.decode_time:.6f} {int(self.is_key)} "
                f"{int(self.is_reference)} {self.identity}\n")

    @staticmethod
    def from_line(fields: list[str]) -> Frame:
        return Frame(float(fields[1]), int(fields[2]), float(fields[3]), fields[4] == "1", fields[5] == "1", fields[6])


def from_units(units: Iterator[bytes], arrived: float, connection: int, decode_time: float) -> Frame | None:
    """The frame that these NAL units are; nothing if there is no slice among them.

    What containers add and leave out (parameter sets, delimiters, SEI) is no part of the identity.
    """
    digest = hashlib.blake2b(digest_size=8)
    key = reference = found = False
    for unit in units:
        if not unit:
            continue
        kind = unit[0] & 31
        if kind in (SLICE, IDR):
            found = True
            key = key or kind == IDR
            reference = reference or unit[0] & 0x60 != 0
            digest.update(unit)
    return Frame(arrived, connection, decode_time, key, reference, digest.hexdigest()) if found else None


def length_prefixed(data: bytes) -> Iterator[bytes]:
    """The NAL units of a frame in MP4's and FLV's form."""
    at = 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        yield data[at + 4:at + 4 + size]
        at += 4 + size


def start_coded(data: bytes) -> Iterator[bytes]:
    """The NAL units of a frame in Annex B form."""
    for part in data.split(b"\0\0\1")[1:]:
        yield part.rstrip(b"\0")


def from_video_tag(body: bytes, arrived: float, connection: int, decode_time: float) -> Frame | None:
    """The frame in an FLV video tag, which is what an RTMP video message holds."""
    if len(body) < 6 or body[0] & 15 != 7 or body[1] != 1:
        return None
    return from_units(length_prefixed(body[5:]), arrived, connection, decode_time)


def is_audio(body: bytes) -> bool:
    """Whether an FLV audio tag holds audio, and not AAC's configuration."""
    return len(body) > 2 and body[0] >> 4 == AAC and body[1] == 1


def adts(data: bytes) -> int:
    """How many packets of AAC these bytes are."""
    at = count = 0
    while at + 7 <= len(data) and data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0:
        at += max(7, (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5)
        count += 1
    return count


def flv_tags(data: bytes) -> Iterator[tuple[int, float, bytes]]:
    """Kind, time and body of the tags of an FLV file, whole ones only."""
    at = 13
    while at + 11 <= len(data):
        size = int.from_bytes(data[at + 1:at + 4], "big")
        if at + 11 + size > len(data):
            return
        milliseconds = int.from_bytes(data[at + 4:at + 7], "big") | data[at + 7] << 24
        yield data[at], milliseconds / 1000, data[at + 11:at + 11 + size]
        at += 15 + size


def audio_of_flv(data: bytes) -> list[float]:
    """The times of an FLV file's packets of audio."""
    return [time for kind, time, body in flv_tags(data) if kind == 8 and is_audio(body)]


def from_flv(data: bytes) -> Iterator[Frame]:
    """The frames of an FLV file."""
    for kind, time, body in flv_tags(data):
        frame = from_video_tag(body, 0.0, 0, time) if kind == 9 else None
        if frame:
            yield frame
