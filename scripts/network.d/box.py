# SPDX-License-Identifier: Apache-2.0
"""A middlebox between two networks: forwards each IP packet, and loses, delays, reorders, slows and forgets when told.

Started in the network of relay, it makes the interface `near` there and `far` in a network of its own, in which the
peers are to be started. Told on standard input, a line each; a rule replaces the one before:

  ok | block | loss SHARE | delay SECONDS | reorder SHARE SECONDS | rate SHARE | answers SECONDS | forget

`loss` and `delay` are for each direction. `rate` is a share of the rate that went to the peer in the last 4 s.
`answers` delays what the peer says. `forget` loses all further packets of the connections that there are. What happened
goes to the events file: `did TIME LOST LATE`, when a rule ends, and `flowed TIME`, when relay's first data passed after
a `block`.
"""
from __future__ import annotations

import argparse
import collections
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

NEAR, FAR = "10.9.0.1", "10.9.0.2"
TUNSETIFF = 0x400454CA
TUN_WITHOUT_HEADER = 0x1001
CLONE_NEWNET = 0x40000000
TCP, UDP = 6, 17
SYN, ACK = 2, 16
TO_PEER, TO_RELAY = 0, 1
QUEUE = 0.3
"""Seconds that a slow network holds before it drops."""
MEASURED = 4.0


class Packet:
    """What the box has to know of an IPv4 packet. `direction` says which port is whose."""

    def __init__(self, data: bytes, direction: int) -> None:
        self.data, self.direction = data, direction
        head = (data[0] & 15) * 4 if data else 0
        self.protocol = data[9] if len(data) > 9 else 0
        self.flow: tuple[int, int, int] | None = None
        self.opens = self.has_data = False
        if self.protocol not in (TCP, UDP) or len(data) < head + 8:
            return
        ports = struct.unpack(">HH", data[head:head + 4])
        self.flow = (self.protocol, *(ports if direction == TO_PEER else ports[::-1]))
        self.has_data = self.protocol == UDP
        if self.protocol == TCP and len(data) >= head + 14:
            flags = data[head + 13] & (SYN | ACK)
            self.opens = flags == SYN
            self.has_data = len(data) > head + (data[head + 12] >> 4) * 4 or bool(flags & SYN)


class Rules:
    """Decides what becomes of each packet. Times in seconds of any clock that only goes forward."""

    def __init__(self, seed: int, note: Callable[[str], None]) -> None:
        self.random, self.note = random.Random(seed), note
        self.name, self.numbers = "ok", [0.0, 0.0]
        self.rate = 0.0
        """Bytes a second to the peer; 0 without a bound."""
        self.busy_until = 0.0
        self.lost = self.late = 0
        self.waits_for_flow = False
        self.flows: set[tuple[int, int, int]] = set()
        self.forgotten: set[tuple[int, int, int]] = set()
        self.sent: collections.deque[tuple[float, int]] = collections.deque()

    def told(self, line: str, now: float) -> None:
        name, *numbers = line.split()
        if self.name != "ok":
            self.note(f"did {time.time():.6f} {self.lost} {self.late}\n")
        self.waits_for_flow = self.name == "block" and name != "block"
        self.lost = self.late = 0
        self.name, self.numbers = name, [*map(float, numbers), 0.0, 0.0]
        self.rate, self.busy_until = 0.0, now
        if name == "rate":
            self.rate = max(1000.0, self.numbers[0] * self.seen(now))
        if name == "forget":
            self.forgotten |= self.flows
            self.flows.clear()

    def seen(self, now: float) -> float:
        """The bytes a second that went to the peer lately."""
        self._let_go(now)
        return sum(size for _, size in self.sent) / MEASURED

    def due(self, packet: Packet, now: float) -> float | None:
        """When the packet is to go on; nothing if it is lost."""
        if packet.flow in self.forgotten and packet.opens:
            self.forgotten.discard(packet.flow)
        if packet.flow in self.forgotten or self._is_lost(packet):
            self.lost += 1
            return None
        if packet.flow:
            self.flows.add(packet.flow)
        due = now + self._delay(packet)
        if packet.direction == TO_PEER:
            if self.rate:
                begins = max(now, self.busy_until)
                if begins - now > QUEUE:
                    self.lost += 1
                    return None
                self.busy_until = due = begins + len(packet.data) / self.rate
            self.sent.append((now, len(packet.data)))
            self._let_go(now)
            if self.waits_for_flow and packet.has_data:
                self.waits_for_flow = False
                self.note(f"flowed {time.time():.6f}\n")
        self.late += due > now
        return due

    def _let_go(self, now: float) -> None:
        while self.sent and self.sent[0][0] < now - MEASURED:
            self.sent.popleft()

    def _is_lost(self, packet: Packet) -> bool:
        return self.name == "block" or self.name == "loss" and self.random.random() < self.numbers[0]

    def _delay(self, packet: Packet) -> float:
        if self.name == "delay" or self.name == "answers" and packet.direction == TO_RELAY:
            return self.numbers[0]
        if self.name == "reorder" and self.random.random() < self.numbers[0]:
            return self.numbers[1] * self.random.uniform(0.2, 1)
        return 0.0


def open_interface(name: str, address: str) -> int:
    """A TUN interface in the network that this process is in."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), TUN_WITHOUT_HEADER))
    for words in (["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{address}/30", "dev", name],
                  ["ip", "link", "set", name, "txqueuelen", "1000", "up"]):
        subprocess.run(words, check=True)
    return descriptor


def enter_new_network() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


class Box:
    """The two interfaces, and the packets that are on their way."""

    def __init__(self, events: Path, seed: int) -> None:
        self.events = events.open("a", buffering=1)
        self.rules = Rules(seed, self.events.write)
        self.near = open_interface("near", NEAR)
        enter_new_network()
        self.far = open_interface("far", FAR)
        self.waiting: list[tuple[float, int, int, bytes]] = []
        self.count = 0
        self.events.write(f"listening {time.time():.6f}\n")

    def take(self, descriptor: int) -> None:
        direction, other = (TO_PEER, self.far) if descriptor == self.near else (TO_RELAY, self.near)
        while True:
            try:
                data = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return
            if data and data[0] >> 4 != 4:
                continue
            now = time.monotonic()
            due = self.rules.due(Packet(data, direction), now)
            if due is None:
                continue
            if due <= now:
                self.send(other, data)
            else:
                self.count += 1
                heapq.heappush(self.waiting, (due, self.count, other, data))

    @staticmethod
    def send(descriptor: int, data: bytes) -> None:
        try:
            os.write(descriptor, data)
        except OSError:
            pass  # a network may lose packets

    def run(self) -> None:
        poll = select.epoll()
        for descriptor in (self.near, self.far, sys.stdin.fileno()):
            poll.register(descriptor, select.EPOLLIN)
        while True:
            wait = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else 1.0
            for descriptor, _ in poll.poll(wait):
                if descriptor != sys.stdin.fileno():
                    self.take(descriptor)
                    continue
                text = os.read(descriptor, 4096).decode()
                if not text:
                    return
                for line in text.splitlines():
                    self.rules.told(line, time.monotonic())
            while self.waiting and self.waiting[0][0] <= time.monotonic():
                _, _, other, data = heapq.heappop(self.waiting)
                self.send(other, data)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    Box(options.events, options.seed).run()


if __name__ == "__main__":
    main()
