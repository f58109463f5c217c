# SPDX-License-Identifier: Apache-2.0
"""A receiver of transport streams that notes when each frame arrived, and begins again when its connection ends.

`ts_peer.py ADDRESS EVENTS FIRST`: ADDRESS is one of srt-live-transmit, or udp://HOST:PORT to receive at; FIRST is the
number of the connection before the first.
"""
from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from ts_sink import Reader

PAUSE = 0.1


def receive_srt(address: str, events: TextIO, number: int) -> int:
    """One connection; the number of the last one."""
    process = subprocess.Popen(["stdbuf", "-o0", "srt-live-transmit", "-q", "-a:no", address, "file://con"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout
    reader = None
    while data := process.stdout.read1(1 << 16):
        now = time.time()
        if reader is None:
            number += 1
            reader = Reader(events, number)
            events.write(f"accepted {now:.6f} {number}\n")
        reader.feed(data, now)
    process.wait()
    if reader:
        reader.finish()
        events.write(f"closed {time.time():.6f} {number}\n")
    return number


def receive_udp(host: str, port: int, events: TextIO, number: int) -> None:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    link.bind((host, port))
    events.write(f"accepted {time.time():.6f} {number}\n")
    reader = Reader(events, number)
    while True:
        data = link.recv(1 << 16)
        reader.feed(data, time.time())


def main() -> None:
    address, number = sys.argv[1], int(sys.argv[3])
    url = urlsplit(address)
    with Path(sys.argv[2]).open("a", buffering=1) as events:
        events.write(f"listening {time.time():.6f}\n")
        if url.scheme == "udp":
            receive_udp(url.hostname or "", url.port or 0, events, number + 1)
        while True:
            number = receive_srt(address, events, number)
            time.sleep(PAUSE)


if __name__ == "__main__":
    main()
