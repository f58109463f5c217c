# SPDX-License-Identifier: Apache-2.0
"""rtsp.py PORT: hands on what one client records by RTSP over TCP at 127.0.0.1:PORT to those who play it (RFC 2326).

Whoever plays gets the last sender reports first, as from most servers, so that the relation of audio to video is known.
"""
import re
import socket
import struct
import sys
import threading


class Stream:
    """What is recorded, and who plays it."""

    def __init__(self):
        self.description, self.players, self.reports, self.lock = b"", [], {}, threading.Lock()

    def take(self, channel, packet):
        with self.lock:
            if channel % 2 == 1 and packet[1:2] == b"\xc8":
                self.reports[channel] = packet
            for player in self.players:
                player.send(channel, packet)


class Client(threading.Thread):
    """One connection: its requests, and the packets between them."""

    def __init__(self, link, stream):
        super().__init__(daemon=True)
        self.link, self.stream, self.input = link, stream, link.makefile("rb")
        self.channels, self.lock = {}, threading.Lock()

    def run(self):
        try:
            while self.step():
                pass
        except OSError:
            pass
        with self.stream.lock:
            if self in self.stream.players:
                self.stream.players.remove(self)
        self.link.close()

    def send(self, channel, packet):
        try:
            with self.lock:
                self.link.sendall(b"$" + struct.pack(">BH", self.channels[channel], len(packet)) + packet)
        except (OSError, KeyError):
            pass

    def step(self):
        first = self.input.read(1)
        if first == b"$":
            channel, length = struct.unpack(">BH", self.input.read(3))
            packet = self.input.read(length)
            if self not in self.stream.players:
                self.stream.take(channel, packet)
            return True
        words = (first + self.input.readline()).decode().split()
        if len(words) < 2:
            return False
        headers = {}
        while line := self.input.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return self.answer(words[0], words[1], headers, self.input.read(int(headers.get("content-length", 0))))

    def answer(self, method, url, headers, body):
        status, lines, content = "200 OK", [], b""
        if method == "OPTIONS":
            lines = ["Public: OPTIONS, DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, TEARDOWN, GET_PARAMETER"]
        elif method == "ANNOUNCE":
            self.stream.description = body
        elif method == "DESCRIBE":
            content = self.stream.description
            lines = ["Content-Type: application/sdp", f"Content-Base: {url}/", f"Content-Length: {len(content)}"]
        elif method == "SETUP":
            ports = re.search(r"interleaved=(\d+)-(\d+)", headers["transport"])
            track = re.search(r"(\d+)/?$", url)
            if ports and track:
                for index in (0, 1):
                    self.channels[2 * int(track.group(1)) + index] = int(ports.group(1 + index))
                lines = [f"Transport: {headers['transport']}"]
            else:
                status = "461 Unsupported Transport"
        reply = [f"RTSP/1.0 {status}", f"CSeq: {headers.get('cseq', 0)}", "Session: 1;timeout=60"] + lines
        with self.lock:
            self.link.sendall("\r\n".join(reply).encode() + b"\r\n\r\n" + content)
        if method == "PLAY":
            with self.stream.lock:
                for channel, packet in self.stream.reports.items():
                    self.send(channel, packet)
                self.stream.players.append(self)
        return method != "TEARDOWN"


server, shared = socket.create_server(("127.0.0.1", int(sys.argv[1]))), Stream()
while True:
    Client(server.accept()[0], shared).start()
