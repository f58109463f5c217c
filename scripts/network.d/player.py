# SPDX-License-Identifier: Apache-2.0
"""An RTMP player that notes when each frame arrived, and connects again when its connection ends.

`player.py HOST PORT APP NAME EVENTS FIRST`: FIRST is the number of the connection before the first.
"""
from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import amf
import frames
from rtmp_stream import HANDSHAKE, Stream

CONNECT = 2.0
SILENCE = 15.0
"""Seconds without a byte after which the player gives a connection up: more than after which relay does."""
PAUSE = 0.25


class PlayerStream(Stream):
    """The other side of `Stream`: asks for a program."""

    def __init__(self, app: str, name: str, send: Callable[[bytes], None],
                 on_video: Callable[[float, bytes], None]) -> None:
        super().__init__("ok", send, on_video, lambda time, body: None)
        self.app, self.name = app, name
        self.greeted = False
        send(b"\x03" + bytes(8) + os.urandom(HANDSHAKE - 8))

    def feed(self, data: bytes) -> None:
        if self.greeted:
            super().feed(data)
            return
        self.buffer += data
        if len(self.buffer) >= 1 + 2 * HANDSHAKE:
            self.send(bytes(self.buffer[1:1 + HANDSHAKE]))
            del self.buffer[:1 + 2 * HANDSHAKE]
            self.greeted, self.state = True, "chunks"
            self.send(amf.command(0, "connect", 1.0, {"app": self.app, "tcUrl": f"rtmp://relay/{self.app}"}))
            super().feed(b"")

    def _message(self, kind: int, time: float, body: bytes) -> None:
        if kind != 20:
            super()._message(kind, time, body)
            return
        name, transaction = amf.command_head(body)
        if name == "_result" and transaction == 1:
            self.send(amf.command(0, "createStream", 2.0, None))
        elif name == "_result" and transaction == 2:
            stream = int(struct.unpack(">d", body[-8:])[0])
            self.send(amf.command(stream, "play", 3.0, None, self.name))


def play(link: socket.socket, number: int, app: str, name: str, note: Callable[[str], None]) -> None:
    arrived = 0.0

    def on_video(decode_time: float, body: bytes) -> None:
        frame = frames.from_video_tag(body, arrived, number, decode_time)
        if frame:
            note(frame.line())

    link.settimeout(SILENCE)
    stream = PlayerStream(app, name, link.sendall, on_video)
    while data := link.recv(1 << 16):
        arrived = time.time()
        stream.feed(data)


def main() -> None:
    host, port, app, name, events, first = sys.argv[1:7]
    number = int(first)
    with Path(events).open("a", buffering=1) as file:
        file.write(f"listening {time.time():.6f}\n")
        while True:
            try:
                with socket.create_connection((host, int(port)), CONNECT) as link:
                    number += 1
                    file.write(f"accepted {time.time():.6f} {number}\n")
                    play(link, number, app, name, file.write)
            except OSError:
                pass
            file.write(f"closed {time.time():.6f} {number}\n")
            time.sleep(PAUSE)


if __name__ == "__main__":
    main()
