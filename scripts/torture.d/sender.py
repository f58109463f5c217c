# SPDX-License-Identifier: Apache-2.0
"""What all senders have: the case's own time, and the bytes of a session with the time when they are due."""
from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import flv
import ts
from media import Unit
from stream import Sent, Session, after

if TYPE_CHECKING:
    from links import Link

DATAGRAM = 7 * ts.PACKET
PATIENCE = 30.0


class Pace:
    """The case's own time: seconds since its first unit was due."""

    def __init__(self) -> None:
        self.begun: float | None = None
        self.latest = 0.0
        """How late a unit was sent at most, in seconds."""
        self.over = threading.Event()

    def begin(self) -> None:
        if self.begun is None:
            self.begun = time.monotonic()

    def now(self) -> float:
        return 0.0 if self.begun is None else time.monotonic() - self.begun

    def wait(self, due: float) -> None:
        """Waits until a unit is due, or the case is over."""
        rest = due - self.now()
        if rest > 0:
            self.over.wait(rest)
        else:
            self.latest = max(self.latest, -rest)
        if self.over.is_set():
            raise InterruptedError


def form_bytes(session: Session, form: str) -> Iterator[tuple[float, bytes]]:
    """The session as the bytes of an FLV file or a transport stream."""
    if form == "flv":
        return flv.stream(session.units)
    packets = list(ts.stream(session.units, session.changes))
    return iter(session.packets(packets) if session.packets else packets)


def joined(pieces: Iterable[tuple[float, bytes]], most: int) -> Iterator[tuple[float, bytes]]:
    """Pieces that are due at one time are sent as one, up to a size."""
    due, out = 0.0, b""
    for at, piece in pieces:
        if out and (at != due or len(out) + len(piece) > most):
            yield due, out
            out = b""
        due, out = at, out + piece
    if out:
        yield due, out


class Sender:
    """A transport. `address` is what relay is given."""

    joins = 0.0
    """Seconds that the sender is ahead of relay."""
    is_called = False
    """Whether relay makes the connections."""
    datagrams = False
    """Whether it sends datagrams."""

    def __init__(self, sent: Sent, form: str, port: int, work: Path, door: int = 0) -> None:
        self.sent, self.form, self.port, self.work = sent, form, port, work
        self.door = door or port
        """The port that is called: that of a link to `port`, if there is one."""
        self.link: Link | None = None
        self.pace = Pace()
        self.threads: list[threading.Thread] = []
        self.failure = ""

    @property
    def address(self) -> str:
        raise NotImplementedError

    @property
    def last(self) -> Session:
        """The session that stays until the case is over."""
        return [session for session in self.sent.sessions if not session.intrudes][-1]

    def prepare(self) -> None:
        """What must be there before relay is."""

    def start(self) -> None:
        """Begins to send, when relay is ready for it."""

    def run(self, action, *arguments: object) -> None:  # type: ignore[no-untyped-def]
        def guarded() -> None:
            try:
                action(*arguments)
            except InterruptedError:
                pass
            except OSError as error:
                intrudes = any(isinstance(argument, Session) and argument.intrudes for argument in arguments)
                if intrudes or self.pace.over.is_set():
                    return
                self.failure = self.failure or f"{type(error).__name__}: {error}"

        thread = threading.Thread(target=guarded, daemon=True)
        self.threads.append(thread)
        thread.start()

    def rest(self, units: list[Unit]) -> list[Unit]:
        """What is sent by a sender that lost its connection, as soon as the network passes: from the next keyframe on.
        Empty if there is none, or if no fault explains the loss."""
        if not self.link:
            return []
        self.link.wait_until_it_passes()
        return self.from_next_key(units)

    def from_next_key(self, units: list[Unit]) -> list[Unit]:
        """The units from the next keyframe on; empty if no keyframe follows."""
        key = next((unit for unit in units if unit.key and unit.due > self.pace.now() + 0.1), None)
        if not key:
            return []
        left = [*(replace(unit, due=key.due) for unit in units[:1] if unit.kind == "data"), *after(units, key.due)]
        return [replace(unit, time=max(0.0, unit.time - key.time)) for unit in left] if self.sent.restamps else left

    def length(self) -> float:
        """When the last unit is due."""
        return max((unit.due for unit in self.sent.units), default=0.0)

    def stop(self) -> None:
        self.pace.over.set()
        if self.link:
            self.link.close()
        for thread in self.threads:
            thread.join(5)
