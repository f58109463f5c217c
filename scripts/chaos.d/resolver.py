# SPDX-License-Identifier: Apache-2.0
"""A name server on 127.0.0.1:53 of its own network namespace: every name is 127.0.0.1, after `DELAY` seconds.

Told on standard input, a line each: `ok`, `never`, or a number of seconds. Notes each question in the file EVENTS.
"""
from __future__ import annotations

import select
import socket
import sys
import time

ADDRESS = 1


def answer(query: bytes) -> bytes:
    """Our address for a question about one, and an empty answer for any other."""
    end = query.index(b"\0", 12) + 5
    asks_address = int.from_bytes(query[end - 4:end - 2], "big") == ADDRESS
    record = b"\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04" + bytes([127, 0, 0, 1]) if asks_address else b""
    return query[:2] + b"\x81\x80\0\x01" + bytes([0, int(asks_address)]) + bytes(4) + query[12:end] + record


def main() -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind(("127.0.0.1", 53))
    delay: float | None = None if sys.argv[1] == "never" else float(sys.argv[1])
    events = open(sys.argv[2], "a", buffering=1)
    waiting: list[tuple[float, bytes, tuple[str, int]]] = []
    while True:
        ready, _, _ = select.select([link, sys.stdin], [], [], 0.05)
        if sys.stdin in ready:
            line = sys.stdin.readline().strip()
            if not line:
                return
            delay = None if line == "never" else 0.0 if line == "ok" else float(line)
        if link in ready:
            query, sender = link.recvfrom(2048)
            events.write(f"asked {time.time():.6f}\n")
            if delay is not None:
                waiting.append((time.monotonic() + delay, query, sender))
        for entry in [entry for entry in waiting if entry[0] <= time.monotonic()]:
            waiting.remove(entry)
            link.sendto(answer(entry[1]), entry[2])


if __name__ == "__main__":
    main()
