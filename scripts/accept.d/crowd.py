#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A crowd that asks relay's HTTP server for metrics, events and previews, and some who read no answer.

Says `ready` when all of them have been answered; goes on until its input ends, and then says as JSON what they got.
"""

import argparse
import json
import os
import selectors
import socket
import sys
import time

# Requests that are sent at once where no answer is read: more than the system takes of the answers.
UNREAD = 500
# Those that ask for metrics, in turn.
CONNECTIONS = 4


def request(path, token):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def unread(port, token):
    """A connection that asks for much, and reads nothing."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.connect(("127.0.0.1", port))
    link.setblocking(False)
    # As much of that as fits.
    link.send(request("/metrics", token) * UNREAD)
    return link


class Reader:
    """One connection that asks, and counts what comes."""

    def __init__(self, crowd, path):
        self.crowd, self.bytes, self.data, self.waits, self.statuses = crowd, 0, b"", None, 0
        self.is_alive, self.last = True, time.monotonic()
        self.socket = socket.create_connection(("127.0.0.1", crowd.options.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.path = path
        crowd.selector.register(self.socket, selectors.EVENT_READ, self)
        if path != "/metrics":
            self.ask()

    def ask(self):
        self.waits = time.monotonic()
        self.socket.sendall(request(self.path, self.crowd.options.token))

    def read(self):
        """Takes what has come."""
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionError:
            data = b""
        self.last = time.monotonic()
        if not data:
            self.is_alive = False
            self.crowd.selector.unregister(self.socket)
            return
        if not self.bytes and not data.startswith(b"HTTP/1.1 200 "):
            self.crowd.refused += 1
        self.bytes += len(data)
        if self.path == "/metrics":
            self.take(data)
        elif self.path == "/v1/events":
            self.statuses += data.count(b"event: status")

    def take(self, data):
        """Looks whether an answer that has a length is complete."""
        self.data += data
        head, found, body = self.data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) >= length:
            if not head.startswith(b"HTTP/1.1 200 "):
                self.crowd.refused += 1
            self.crowd.latencies.append(time.monotonic() - self.waits)
            self.data, self.waits = b"", None


class Crowd:
    """All of them."""

    def __init__(self, options):
        self.options, self.selector = options, selectors.DefaultSelector()
        self.latencies, self.refused, self.missed = [], 0, 0
        preview = f"/v1/channels/{options.channel}/preview.mp4"
        self.askers = [Reader(self, "/metrics") for _ in range(CONNECTIONS if options.metrics else 0)]
        self.events = [Reader(self, "/v1/events") for _ in range(options.events)]
        self.previews = [Reader(self, preview) for _ in range(options.previews)]
        # Longer than a phase relay has patience with them.
        self.deaf = [unread(options.port, options.token) for _ in range(options.deaf)]

    def wait(self, seconds):
        for key, _ in self.selector.select(max(0, seconds)):
            if key.data is None:
                return False
            key.data.read()
        return True

    def run(self):
        """Plays until standard input ends."""
        self.selector.register(sys.stdin, selectors.EVENT_READ, None)
        while not all(reader.bytes for reader in self.events + self.previews):
            if not self.wait(1):
                return
        print("ready", flush=True)
        begin = time.monotonic()
        asked = 0
        while True:
            elapsed = time.monotonic() - begin
            if self.askers and elapsed * self.options.metrics >= asked:
                asked += 1
                turn = asked % CONNECTIONS
                reader = next((one for one in self.askers[turn:] + self.askers if one.waits is None), None)
                if reader is None:
                    self.missed += 1
                else:
                    reader.ask()
            until = asked / self.options.metrics - elapsed if self.askers else 1
            if not self.wait(until):
                break
        self.tell(time.monotonic() - begin)

    def tell(self, seconds):
        latencies = sorted(self.latencies) or [0]
        now = time.monotonic()
        streams = self.events + self.previews
        print(
            json.dumps(
                {
                    "seconds": seconds,
                    "asked_a_second": len(self.latencies) / seconds,
                    "refused": self.refused,
                    "missed": self.missed,
                    "median_ms": latencies[len(latencies) // 2] * 1000,
                    "worst_ms": latencies[-1] * 1000,
                    "ended": sum(not reader.is_alive for reader in streams),
                    "quietest_s": max((now - reader.last for reader in streams), default=0),
                    "statuses": min((reader.statuses for reader in self.events), default=0),
                    "preview_bytes": min((reader.bytes for reader in self.previews), default=0),
                }
            ),
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--channel", required=True)
    for name, words in (
        ("metrics", "requests of metrics a second"),
        ("events", "event streams"),
        ("previews", "previews"),
        ("deaf", "connections that ask for metrics and read nothing"),
    ):
        parser.add_argument(f"--{name}", type=int, default=0, help=words)
    Crowd(parser.parse_args()).run()
    # Not one by one.
    os._exit(0)


if __name__ == "__main__":
    main()
