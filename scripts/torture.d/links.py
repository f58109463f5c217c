# SPDX-License-Identifier: Apache-2.0
"""The network between a sender and relay, and what is done to it: it is cut, it stands still, its peer falls silent."""
from __future__ import annotations

import socket
import struct
import threading
import time

from sender import Pace, Sender
from stream import Fault

PIECE = 65536
TURN = 0.02
"""Seconds after which a thread looks again whether something has changed."""


class Link:
    """What is on the way between two ends. `begin` and `end` are called with each fault."""

    def __init__(self, faults: list[Fault], pace: Pace) -> None:
        self.faults, self.pace = sorted(faults, key=lambda fault: fault.begin), pace
        self.is_still = False
        self.stopped = False

    def play(self) -> None:
        """Does one fault after the other, when it is due."""
        while self.pace.begun is None:
            if self.pace.over.wait(TURN):
                return
        for fault in self.faults:
            self.pace.wait(fault.begin)
            self.begin(fault)
            self.pace.wait(fault.end)
            self.end(fault)

    def wait_until_it_passes(self) -> None:
        """Until no fault is in force."""
        while any(fault.begin <= self.pace.now() <= fault.end + TURN for fault in self.faults):
            self.pace.wait(self.pace.now() + TURN)

    def begin(self, fault: Fault) -> None:
        self.is_still = fault.how == "freeze"

    def end(self, fault: Fault) -> None:
        self.is_still = False

    def close(self) -> None:
        self.stopped = True


class Pair:
    """One connection: the end that called, and the end that was called."""

    def __init__(self, caller: socket.socket, called: socket.socket) -> None:
        self.caller, self.called = caller, called
        self.dead_side: socket.socket | None = None
        """The end that hears nothing any more, though its connection is open."""
        self.asked: float | None = None
        """When a request came that has no answer yet."""
        self.is_reset = False
        self.ended = 0
        self.lock = threading.Lock()

    def abort(self, *ends: socket.socket) -> None:
        """Resets connections. Each is closed by the threads that read from it, which this wakes."""
        self.is_reset = True
        for end in ends:
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RD)
            except OSError:
                pass

    def leave(self, source: socket.socket) -> None:
        """Called by each of the two threads at its end."""
        with self.lock:
            self.ended += 1
            if self.ended == 2:
                self.caller.close()
                self.called.close()
            elif self.dead_side:
                source.close()


class TCPLink(Link):
    """Carries connections from the port `door` to the port `port`.

    A fault is `freeze` (nothing passes, and what was sent passes afterwards), `cut` (connections are reset, and none
    can be made), `dead` (relay's end of each connection stays open and hears nothing again; the sender's end is
    reset), or `slow` (each answer comes `delay` seconds late).
    """

    def __init__(self, door: int, port: int, faults: list[Fault], pace: Pace, relay_calls: bool) -> None:
        super().__init__(faults, pace)
        self.door, self.port, self.relay_calls = door, port, relay_calls
        self.delay, self.is_dead = 0.0, False
        self.pairs: list[Pair] = []
        self.lock = threading.Lock()
        self.listener: socket.socket | None = None
        self.open()

    def open(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", self.door))
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def shut(self) -> None:
        """No connection can be made from now on."""
        listener, self.listener = self.listener, None
        if listener:
            # Closed alone, it would accept one more.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def begin(self, fault: Fault) -> None:
        super().begin(fault)
        self.delay = fault.delay if fault.how == "slow" else 0.0
        with self.lock:
            pairs, self.is_dead = list(self.pairs), fault.how == "dead"
        if fault.how == "cut":
            self.shut()
            for pair in pairs:
                pair.abort(pair.caller, pair.called)
        elif fault.how == "dead":
            for pair in pairs:
                self.forsake(pair)

    def end(self, fault: Fault) -> None:
        super().end(fault)
        self.delay, self.is_dead = 0.0, False
        if not self.listener and not self.stopped:
            self.open()

    def forsake(self, pair: Pair) -> None:
        relays, other = (pair.caller, pair.called) if self.relay_calls else (pair.called, pair.caller)
        pair.dead_side = relays
        pair.abort(other)

    def accept(self, listener: socket.socket) -> None:
        while listener is self.listener:
            try:
                caller, _ = listener.accept()
            except OSError:
                continue
            try:
                called = socket.create_connection(("127.0.0.1", self.port), 5)
            except OSError:
                caller.close()
                continue
            called.settimeout(None)
            pair = Pair(caller, called)
            for end in (caller, called):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.pairs.append(pair)
                if self.is_dead:
                    self.forsake(pair)
            for source, target in ((caller, called), (called, caller)):
                threading.Thread(target=self.pump, args=(pair, source, target), daemon=True).start()

    def pump(self, pair: Pair, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(PIECE):
                while self.is_still and not self.stopped:
                    time.sleep(TURN)
                if pair.dead_side:
                    continue
                if source is pair.caller:
                    # Reports of RTCP in a connection of RTSP are no requests.
                    if pair.asked is None and data[:1] != b"$":
                        pair.asked = time.monotonic()
                elif pair.asked is not None:
                    time.sleep(max(0.0, pair.asked + self.delay - time.monotonic()))
                    pair.asked = None
                target.sendall(data)
            if not pair.is_reset:
                target.shutdown(socket.SHUT_WR)
        except OSError:
            if not pair.dead_side:
                pair.abort(target)
        finally:
            pair.leave(source)

    def close(self) -> None:
        super().close()
        self.shut()
        with self.lock:
            for pair in self.pairs:
                pair.abort(pair.caller, pair.called)


class UDPLink(Link):
    """Carries datagrams from callers at the port `door` to the port `port`, and back. While it stands still, they are
    lost."""

    def __init__(self, door: int, port: int, faults: list[Fault], pace: Pace) -> None:
        super().__init__(faults, pace)
        self.port = port
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", door))
        self.ends: dict[tuple, socket.socket] = {}
        threading.Thread(target=self.forth, daemon=True).start()

    def begin(self, fault: Fault) -> None:
        self.is_still = True

    def forth(self) -> None:
        while not self.stopped:
            try:
                data, caller = self.socket.recvfrom(PIECE)
            except OSError:
                continue
            if self.is_still:
                continue
            if caller not in self.ends:
                end = self.ends[caller] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                end.connect(("127.0.0.1", self.port))
                threading.Thread(target=self.back, args=(end, caller), daemon=True).start()
            try:
                self.ends[caller].send(data)
            except OSError:
                pass

    def back(self, end: socket.socket, caller: tuple) -> None:
        while not self.stopped:
            try:
                data = end.recv(PIECE)
                if not self.is_still:
                    self.socket.sendto(data, caller)
            except OSError:
                time.sleep(TURN)

    def close(self) -> None:
        super().close()
        for end in [self.socket, *self.ends.values()]:
            try:
                end.shutdown(socket.SHUT_RD)
            except OSError:
                pass
            end.close()


def lay(sender: Sender) -> None:
    """Puts a link between a sender and relay, if the case has faults."""
    faults = sender.sent.faults
    if not faults:
        return
    if sender.datagrams:
        sender.link = UDPLink(sender.door, sender.port, faults, sender.pace)
    else:
        sender.link = TCPLink(sender.door, sender.port, faults, sender.pace, sender.is_called)
    sender.run(sender.link.play)
