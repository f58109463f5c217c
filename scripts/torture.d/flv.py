# SPDX-License-Identifier: Apache-2.0
"""Units as messages of RTMP and tags of FLV."""
from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator

import amf
from media import Unit

KINDS = {"audio": 8, "video": 9, "data": 18}
HEADER = b"FLV\1\5\0\0\0\x09\0\0\0\0"
Message = tuple[int, int, bytes]
"""Kind, milliseconds modulo 2^32, body."""


def number(value: float) -> bytes:
    return b"\0" + struct.pack(">d", value)


def metadata(values: dict[str, float]) -> bytes:
    """onMetaData with these values."""
    body = b"\x02\0\x0aonMetaData\x08" + struct.pack(">I", len(values))
    for name, value in values.items():
        body += struct.pack(">H", len(name)) + name.encode() + number(value)
    return body + b"\0\0\x09"


def milliseconds(time: float) -> int:
    return 0 if math.isnan(time) else round(time * 1000) & 0xFFFFFFFF


class Messages:
    """Turns units into messages, with a sequence header wherever the configuration changes."""

    def __init__(self) -> None:
        self.configs: dict[str, bytes] = {}

    def of(self, unit: Unit) -> list[Message]:
        kind, time = KINDS[unit.kind], milliseconds(unit.time)
        if unit.kind == "data":
            return [(kind, time, unit.body)]
        found: list[Message] = []
        if unit.config and self.configs.get(unit.kind) != unit.config:
            self.configs[unit.kind] = unit.config
            head = b"\x17\0\0\0\0" if unit.kind == "video" else b"\xaf\0"
            found.append((kind, time, head + unit.config))
        if not unit.body:
            return found
        if unit.kind == "video":
            head = bytes([(0x10 if unit.key else 0x20) | (unit.tag or 7), 1])
            head += round(unit.offset * 1000).to_bytes(3, "big", signed=True)
        else:
            head = bytes([unit.tag << 4 | 15]) if unit.tag else b"\xaf\1"
        return [*found, (kind, time, head + unit.body)]


def tag(message: Message) -> bytes:
    kind, time, body = message
    head = bytes([kind]) + len(body).to_bytes(3, "big") + (time & 0xFFFFFF).to_bytes(3, "big") + bytes([time >> 24])
    return head + bytes(3) + body + struct.pack(">I", 11 + len(body))


def stream(units: Iterable[Unit]) -> Iterator[tuple[float, bytes]]:
    """The bytes of an FLV file, each with the time when they are due."""
    messages, head = Messages(), HEADER
    for unit in units:
        yield unit.due, head + b"".join(map(tag, messages.of(unit)))
        head = b""


def chunks(message: Message, stream_id: int, size: int = 128) -> bytes:
    """A message of RTMP in chunks, with a full header (RTMP 1.0, 5.3.1)."""
    kind, time, body = message
    channel = {8: 4, 9: 6, 20: 3}.get(kind, 5)
    extended = struct.pack(">I", time) if time >= 0xFFFFFF else b""
    head = bytes([channel]) + min(time, 0xFFFFFF).to_bytes(3, "big") + len(body).to_bytes(3, "big") + bytes([kind])
    head += struct.pack("<I", stream_id) + extended
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    return head + (bytes([0xC0 | channel]) + extended).join(parts)


def command(stream_id: int, *values: amf.Value) -> bytes:
    return chunks((20, 0, b"".join(map(amf.encode, values))), stream_id, 65536)
