# SPDX-License-Identifier: Apache-2.0
"""The receiving half of RTMP: handshake, chunks, messages."""
from __future__ import annotations

import os
import struct
from collections.abc import Callable

import amf

HANDSHAKE = 1536
REFUSALS = {
    "publish-denied": "NetStream.Publish.Denied",
    "publish-badname": "NetStream.Publish.BadName",
}


class Channel:
    """What later chunks of a chunk stream refer to."""

    def __init__(self) -> None:
        self.time = self.delta = self.length = self.kind = 0
        self.extended = False
        self.part = bytearray()


class Stream:
    """One publisher. Bytes go in through `feed`; answers leave through `send`, media through `on_video`, `on_audio`."""

    def __init__(self, mode: str, send: Callable[[bytes], None], on_video: Callable[[float, bytes], None],
                 on_audio: Callable[[float, bytes], None]) -> None:
        self.mode, self.send, self.on_video, self.on_audio = mode, send, on_video, on_audio
        self.buffer = bytearray()
        self.state = "hello"
        self.chunk = 128
        self.channels: dict[int, Channel] = {}
        self.publishing = False

    def in_message(self) -> bool:
        """Whether a message has begun and not ended."""
        return bool(self.buffer) or any(channel.part for channel in self.channels.values())

    def feed(self, data: bytes) -> None:
        self.buffer += data
        if self.state == "hello" and len(self.buffer) > HANDSHAKE:
            hello = bytes(self.buffer[1:1 + HANDSHAKE])
            del self.buffer[:1 + HANDSHAKE]
            self.send(b"\x03" + bytes(8) + os.urandom(HANDSHAKE - 8) + hello)
            self.state = "echo"
        if self.state == "echo" and len(self.buffer) >= HANDSHAKE:
            del self.buffer[:HANDSHAKE]
            self.state = "chunks"
        while self.state == "chunks" and self._chunk():
            pass

    def _chunk(self) -> bool:
        """Takes one chunk; whether there was a whole one."""
        data = self.buffer
        if not data:
            return False
        form, number, at = data[0] >> 6, data[0] & 63, 1
        if number < 2:
            if len(data) < 2 + number:
                return False
            number, at = 64 + data[1] + (256 * data[2] if number else 0), 2 + number
        head = (11, 7, 3, 0)[form]
        if len(data) < at + head:
            return False
        channel = self.channels.setdefault(number, Channel())
        length, kind, extended, field = channel.length, channel.kind, channel.extended, 0
        if form <= 2:
            field = int.from_bytes(data[at:at + 3], "big")
            extended = field == 0xFFFFFF
        if form <= 1:
            length, kind = int.from_bytes(data[at + 3:at + 6], "big"), data[at + 6]
        at += head
        if extended:
            if len(data) < at + 4:
                return False
            field, at = int.from_bytes(data[at:at + 4], "big"), at + 4
        size = min(self.chunk, length - len(channel.part))
        if len(data) < at + size:
            return False
        if not channel.part:
            if form <= 2:
                channel.delta = 0 if form == 0 else field
            channel.time = field if form == 0 else (channel.time + channel.delta) & 0xFFFFFFFF
        channel.length, channel.kind, channel.extended = length, kind, extended
        channel.part += data[at:at + size]
        del data[:at + size]
        if len(channel.part) >= length:
            body, channel.part = bytes(channel.part), bytearray()
            self._message(kind, channel.time / 1000, body)
        return True

    def _message(self, kind: int, time: float, body: bytes) -> None:
        if kind == 1:
            self.chunk = int.from_bytes(body[:4], "big") & 0x7FFFFFFF
        elif kind == 9:
            self.on_video(time, body)
        elif kind == 8:
            self.on_audio(time, body)
        elif kind == 20:
            self._command(*amf.command_head(body))

    def _command(self, name: str, transaction: float) -> None:
        if name == "connect":
            self.send(amf.message(2, 5, 0, struct.pack(">I", 5_000_000)))
            self.send(amf.message(2, 6, 0, struct.pack(">IB", 5_000_000, 2)))
            if self.mode == "connect-error":
                self.send(amf.command(0, "_error", transaction, None,
                                      amf.status("error", "NetConnection.Connect.Rejected")))
            else:
                self.send(amf.command(0, "_result", transaction, {"fmsVer": "FMS/3,0,1,123", "capabilities": 31.0},
                                      amf.status("status", "NetConnection.Connect.Success")))
        elif name == "createStream":
            self.send(amf.command(0, "_result", transaction, None, 1.0))
        elif name in ("releaseStream", "FCPublish"):
            self.send(amf.command(0, "_result", transaction, None, None))
        elif name == "publish" and self.mode in REFUSALS:
            self.send(amf.command(1, "onStatus", 0.0, None, amf.status("error", REFUSALS[self.mode])))
        elif name == "publish":
            self.publishing = True
            self.send(amf.command(1, "onStatus", 0.0, None, amf.status("status", "NetStream.Publish.Start")))
