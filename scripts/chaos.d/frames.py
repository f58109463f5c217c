# SPDX-License-Identifier: Apache-2.0
"""Coded pictures, told apart by the bytes of their slices, in whatever container they come."""
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

SLICE, IDR = 1, 5


@dataclass(frozen=True)
class Frame:
    """One coded picture as it was received. Times in seconds."""

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
    """The picture that these NAL units are; nothing if there is no slice among them.

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
    """The NAL units of a picture in MP4's and FLV's form."""
    at = 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        yield data[at + 4:at + 4 + size]
        at += 4 + size


def start_coded(data: bytes) -> Iterator[bytes]:
    """The NAL units of a picture in Annex B form."""
    for part in data.split(b"\0\0\1")[1:]:
        yield part.rstrip(b"\0")


def from_video_tag(body: bytes, arrived: float, connection: int, decode_time: float) -> Frame | None:
    """The picture in an FLV video tag, which is what an RTMP video message holds."""
    if len(body) < 6 or body[0] & 15 != 7 or body[1] != 1:
        return None
    return from_units(length_prefixed(body[5:]), arrived, connection, decode_time)


def from_flv(data: bytes) -> Iterator[Frame]:
    """The pictures of an FLV file, whole tags only."""
    at = 13
    while at + 11 <= len(data):
        size = int.from_bytes(data[at + 1:at + 4], "big")
        if at + 11 + size > len(data):
            return
        if data[at] == 9:
            milliseconds = int.from_bytes(data[at + 4:at + 7], "big") | data[at + 7] << 24
            frame = from_video_tag(data[at + 11:at + 11 + size], 0.0, 0, milliseconds / 1000)
            if frame:
                yield frame
        at += 15 + size
