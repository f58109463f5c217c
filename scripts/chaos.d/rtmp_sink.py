# SPDX-License-Identifier: Apache-2.0
"""An RTMP server that notes when each frame arrived, and misbehaves when told to.

Told on standard input, a line each: a MODE for the connections to come, or `rst`, `fin`, `cut` for those there are (a
reset, a FIN after which it reads on, a reset in mid-message). What happened goes to the events file.

Modes: ok | silent | trickle | connect-error | publish-denied | publish-badname | close-each N | fin-each N |
rst-each N (after N seconds of each connection) | flap N (N seconds there, N seconds not).
"""
from __future__ import annotations

import argparse
import os
import select
import socket
import ssl
import struct
import sys
import time
from pathlib import Path

import frames
from rtmp_stream import Stream

TIMESTAMP_NS = 35  # SO_TIMESTAMPNS: when the kernel got it, however late this process is woken
LINGER_RESET = struct.pack("ii", 1, 0)
# The start of a TLS record of 4000 bytes that then comes a byte a second: a handshake that never ends.
TRICKLE = b"\x16\x03\x03\x0f\xa0"


class Connection:
    """One publisher, with TLS or without."""

    def __init__(self, link: socket.socket, number: int, server: Sink) -> None:
        self.link, self.number, self.server = link, number, server
        self.began = self.trickled = time.time()
        self.on_air_since: float | None = None
        self.acted = self.wants_cut = False
        self.mode, self.argument = server.mode, server.argument
        self.stream = Stream(self.mode, self.send, self.on_video, self.on_audio)
        self.arrived = 0.0
        self.tls: ssl.SSLObject | None = None
        if server.tls and self.mode not in ("silent", "trickle"):
            self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = server.tls.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def write(self, data: bytes) -> None:
        try:
            self.link.send(data)
        except OSError:
            pass  # the next read says so

    def send(self, data: bytes) -> None:
        if self.tls:
            self.tls.write(data)
            data = self.outgoing.read()
        self.write(data)

    def on_video(self, decode_time: float, body: bytes) -> None:
        self.on_air_since = self.on_air_since or time.time()
        frame = frames.from_video_tag(body, self.arrived, self.number, decode_time)
        if frame:
            self.server.note(frame.line())

    def on_audio(self, time: float, body: bytes) -> None:
        if frames.is_audio(body):
            self.server.note(f"audio {self.arrived:.6f} {self.number} {time:.6f}\n")

    def readable(self) -> bool:
        """Takes what came; False when the publisher is gone."""
        try:
            # A cut needs the middle of a message: read as little as may be one.
            data, ancillary, _, _ = self.link.recvmsg(200 if self.wants_cut else 1 << 16, 64)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.arrived = time.time()
        for _, kind, stamp in ancillary:
            if kind == TIMESTAMP_NS:
                seconds, nanoseconds = struct.unpack("qq", stamp[:16])
                self.arrived = seconds + nanoseconds / 1e9
        if not data:
            return False
        if self.mode != "trickle":
            self.take(self.decrypted(data) if self.tls else data)
        return self.reset() if self.wants_cut and self.stream.in_message() else True

    def take(self, data: bytes) -> None:
        if data:
            self.stream.feed(data)

    def decrypted(self, data: bytes) -> bytes:
        assert self.tls
        self.incoming.write(data)
        plain = b""
        try:
            if self.stream.state == "hello":
                self.tls.do_handshake()
            while part := self.tls.read(1 << 16):
                plain += part
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self.server.note(f"tls {time.time():.6f} {error.reason}\n")
        self.write(self.outgoing.read())
        return plain

    def due(self, now: float) -> bool:
        """Does what its mode says is due; False when that ends the connection."""
        if self.mode == "trickle" and now - self.trickled >= 1:
            self.write(TRICKLE if self.began == self.trickled else b"\0")
            self.trickled = now
        since = self.on_air_since
        if self.acted or not since or now - since < self.argument or not self.mode.endswith("-each"):
            return True
        self.acted = True
        if self.mode == "close-each":
            return False
        if self.mode == "fin-each":
            self.half_close()
        else:
            self.wants_cut = True
        return True

    def half_close(self) -> None:
        self.server.note(f"fin {time.time():.6f} {self.number}\n")
        self.link.shutdown(socket.SHUT_WR)

    def reset(self) -> bool:
        self.server.note(f"reset {time.time():.6f} {self.number} {self.stream.in_message()}\n")
        self.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
        return False


class Sink:
    """The server."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.events = open(options.events, "a", buffering=1 << 16)  # a restarted server goes on in the same file
        self.mode, self.argument = "ok", 0.0
        self.tls: ssl.SSLContext | None = None
        if options.tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*options.tls)
        self.poll = select.epoll()
        self.connections: dict[int, Connection] = {}
        self.count = options.first
        self.listener: socket.socket | None = None
        self.flap_at = 0.0
        self.set_mode(options.mode)
        self.listen()
        self.poll.register(sys.stdin.fileno(), select.EPOLLIN)

    def note(self, line: str) -> None:
        self.events.write(line)

    def listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.options.receive_buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.options.receive_buffer)
        listener.bind((self.options.address, self.options.port))
        listener.listen(64)
        listener.setblocking(False)
        self.listener = listener
        self.poll.register(listener.fileno(), select.EPOLLIN)
        self.note(f"listening {time.time():.6f}\n")

    def accept(self) -> None:
        assert self.listener
        try:
            link, _ = self.listener.accept()
        except OSError:
            return
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, TIMESTAMP_NS, 1)
        self.count += 1
        self.connections[link.fileno()] = Connection(link, self.count, self)
        self.note(f"accepted {time.time():.6f} {self.count}\n")
        if self.mode != "silent":
            self.poll.register(link.fileno(), select.EPOLLIN)

    def drop(self, descriptor: int) -> None:
        connection = self.connections.pop(descriptor)
        self.note(f"closed {time.time():.6f} {connection.number}\n")
        connection.link.close()

    def set_mode(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        self.mode, self.argument = name, float(argument or 0)
        self.flap_at = time.time() + self.argument

    def told(self, line: str) -> None:
        for descriptor, connection in list(self.connections.items()):
            if line == "rst":
                connection.reset()
                self.drop(descriptor)
            elif line == "fin":
                connection.half_close()
            elif line == "cut":
                connection.wants_cut = True
        if line not in ("rst", "fin", "cut"):
            self.set_mode(line)
            if self.listener is None and self.mode != "flap":
                self.listen()

    def flap(self, now: float) -> None:
        if self.mode != "flap" or now < self.flap_at:
            return
        self.flap_at = now + self.argument
        if self.listener:
            self.listener.close()
            self.listener = None
            self.told("rst")
        else:
            self.listen()

    def run(self) -> None:
        while True:
            for descriptor, _ in self.poll.poll(0.05):
                if descriptor == sys.stdin.fileno():
                    text = os.read(descriptor, 4096).decode()
                    if not text:
                        return
                    for line in text.splitlines():
                        self.told(line)
                elif self.listener and descriptor == self.listener.fileno():
                    self.accept()
                elif descriptor in self.connections and not self.connections[descriptor].readable():
                    self.drop(descriptor)
            now = time.time()
            for descriptor, connection in list(self.connections.items()):
                if not connection.due(now):
                    self.drop(descriptor)
            self.flap(now)
            self.events.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--events", type=Path, required=True)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--mode", default="ok")
    parser.add_argument("--tls", nargs=2, metavar=("CERTIFICATE", "KEY"))
    parser.add_argument("--receive-buffer", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the connection before the first")
    Sink(parser.parse_args()).run()


if __name__ == "__main__":
    main()
