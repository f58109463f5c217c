# SPDX-License-Identifier: Apache-2.0
"""As much of AMF0 and of RTMP's messages as a server says."""
from __future__ import annotations

import struct

Value = float | str | None | dict[str, "Value"]


def encode(value: Value) -> bytes:
    if value is None:
        return b"\x05"
    if isinstance(value, str):
        data = value.encode()
        return b"\x02" + struct.pack(">H", len(data)) + data
    if isinstance(value, dict):
        out = b"\x03"
        for name, inner in value.items():
            out += struct.pack(">H", len(name)) + name.encode() + encode(inner)
        return out + b"\0\0\x09"
    return b"\0" + struct.pack(">d", value)


def command_head(body: bytes) -> tuple[str, float]:
    """Name and transaction of a command."""
    size = struct.unpack(">H", body[1:3])[0]
    name = body[3:3 + size].decode("latin1")
    tail = body[3 + size:12 + size]
    return name, struct.unpack(">d", tail[1:9])[0] if len(tail) == 9 and tail[0] == 0 else 0.0


def message(channel: int, kind: int, stream: int, body: bytes) -> bytes:
    """One message in chunks of 128 bytes, the size before anyone names another."""
    head = bytes([channel, 0, 0, 0]) + len(body).to_bytes(3, "big") + bytes([kind]) + struct.pack("<I", stream)
    parts = [body[at:at + 128] for at in range(0, len(body), 128)]
    return head + bytes([0xC0 | channel]).join(parts)


def command(stream: int, *values: Value) -> bytes:
    return message(3, 20, stream, b"".join(encode(value) for value in values))


def status(level: str, code: str) -> Value:
    return {"level": level, "code": code, "description": "the chaos scorecard's server"}
