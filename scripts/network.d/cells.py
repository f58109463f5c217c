# SPDX-License-Identifier: Apache-2.0
"""The matrix: what carries the program, how the program is made, and what happens to it. Times in seconds."""
from __future__ import annotations

import fnmatch
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import contestants

if TYPE_CHECKING:
    from trial import Trial

GOP = float(contestants.GOP_SECONDS)
LATENCY = 500
"""Milliseconds, of SRT."""
RETRY = 5.0
"""The longest wait between attempts at a target that does not answer: docs/when-things-happen.md."""
STALL = 13.0
"""After which relay gives up a TCP connection that takes nothing: docs/when-things-happen.md."""
IDLE = 5.0
"""After which SRT gives up a peer that is silent."""

TCP = {"rtmp": "RTMP", "rtmps": "RTMPS", "player": "RTMP player"}
SRT = {"srt-caller": "SRT caller", "srt-listener": "SRT listener", "srt-rendezvous": "SRT rendezvous"}
NETWORK = {**TCP, **SRT, "udp": "UDP"}
TRANSPORTS = {**NETWORK, "hls": "HLS"}
LISTENING = {"player", "srt-listener"}
"""Outputs that receivers call: what passed before the first did is no loss."""
USES = {"encoded": "a file that is decoded and encoded", "copy": "a live publisher that is passed through (`--copy`)",
        "file": "a file that is passed through, and ends by itself"}


@dataclass(frozen=True)
class Fault:
    """One thing that happens to a network, a peer or a disk."""

    name: str
    title: str
    act: Callable[[Trial], None]
    hold: float
    back: Callable[[str], float]
    """By transport: after what time fresh frames must have come again."""
    carries: frozenset[str]
    """The transports to which it can happen."""
    whole: frozenset[str] = frozenset()
    """The transports on which nothing may be lost."""
    short_hold: float | None = None
    flows: bool = False
    """Frames must come while it lasts."""
    from_flow: bool = False
    """Where TCP is used, time counts from relay's first data that passed, because the kernel decides when that is."""
    damages: frozenset[str] = frozenset({"udp"})
    """The transports on which frames may come without their reference, because the network loses packets for good."""
    at_start: bool = False
    """It is there before relay is."""
    is_end: bool = False
    """The program ends while it lasts, so that there is no way back."""

    def length(self, short: bool) -> float:
        return self.short_hold if short and self.short_hold is not None else self.hold


@dataclass(frozen=True)
class Cell:
    """One transport, one use, one fault."""

    transport: str
    fault: Fault
    use: str

    @property
    def name(self) -> str:
        return f"{self.transport}/{self.fault.name}/{self.use}"

    @property
    def is_whole(self) -> bool:
        return self.transport in self.fault.whole

    @property
    def is_damaged(self) -> bool:
        return self.transport in self.fault.damages

    @property
    def bound(self) -> float:
        """Where keyframes cannot be asked for, and the last one was dropped, the next one is waited for."""
        waits = self.use != "encoded" and not self.is_whole and self.transport not in ("udp", "hls")
        return self.fault.back(self.transport) + (GOP if waits else 0)

    def random(self, seed: int) -> random.Random:
        """Numbers of this cell's own, so that it is the same alone as among others."""
        return random.Random(f"{seed} {self.name}")


# --- What is done ---

def rule(line: str) -> Callable[[Trial], None]:
    """A rule of the box for as long as the fault lasts."""
    def act(trial: Trial) -> None:
        trial.begin()
        trial.box.tell(line)
        trial.hold()
        trial.box.tell("ok")
        trial.finish()
        trial.bit(trial.box.did_something())
    return act


def from_the_start(trial: Trial) -> None:
    trial.hold()
    trial.box.tell("ok")
    trial.finish()
    trial.bit(trial.box.did_something())


def until_the_end(trial: Trial) -> None:
    """Nothing passes any more, and then the program ends: because it is interrupted, or by itself."""
    trial.begin()
    trial.box.tell("block")
    if trial.cell.use == "file":
        trial.wait_for_end()
    else:
        trial.hold()
        trial.interrupt()
    trial.box.tell("ok")
    trial.finish()
    trial.bit(trial.box.did_something())


def restart(trial: Trial) -> None:
    trial.begin()
    trial.peer.kill()
    trial.bit(trial.peer.is_gone())
    trial.hold()
    trial.peer.start()
    trial.finish()


def stop_reading(trial: Trial) -> None:
    trial.begin()
    trial.peer.pause()
    trial.hold()
    trial.bit(trial.peer.is_stopped())
    trial.peer.resume()
    trial.finish()


def slow_answers(trial: Trial) -> None:
    trial.begin()
    trial.box.tell("answers 1.0")
    trial.peer.kill()
    trial.peer.start()
    trial.hold()
    trial.box.tell("ok")
    trial.finish()
    trial.bit(trial.box.did_something())


def forget(trial: Trial) -> None:
    """The connections are lost at once, and whoever makes new ones is let through: so the fault ends as it begins."""
    trial.begin()
    trial.box.tell("forget")
    trial.finish()
    trial.hold()
    trial.box.tell("ok")
    trial.bit(trial.box.did_something())


def slow_disk(trial: Trial) -> None:
    trial.begin()
    trial.set_disk_rate((contestants.KILOBITS + contestants.AUDIO_KILOBITS) * 1000 // 8 // 2)
    trial.hold()
    trial.set_disk_rate(0)
    trial.finish()
    trial.bit(trial.slowed_writes() > 0)


def full_disk(trial: Trial) -> None:
    trial.begin()
    trial.bit(trial.fill_disk())
    trial.finish()


def read_only_disk(trial: Trial) -> None:
    trial.begin()
    trial.remount("ro")
    trial.hold()
    trial.remount("rw")
    trial.finish()


# --- How soon it must be over ---

def by_kind(tcp: float, srt: float, udp: float = GOP + 0.5, **others: float) -> Callable[[str], float]:
    def back(transport: str) -> float:
        if transport in others:
            return others[transport]
        return tcp if transport in TCP else srt if transport in SRT else udp
    return back


def outage(seconds: float, short: float | None = None) -> Fault:
    """Until RTMP's queue is emptied (3 s), a keyframe may be dropped with the rest, and the next one comes by itself.
    After half a minute SRT calls at longer intervals, and a target of RTMP is connected to again. TCP sends again after
    0.2 s, and then after 0.4 s more: a second gap is too close to the 0.7 s at which frames are dropped.
    """
    tcp = 0.75 if 3 <= seconds < STALL else GOP + 0.75
    caller = 2.0 if seconds < 30 else 2.0 + RETRY
    whole = (frozenset(TCP) if seconds < 0.2 else frozenset()) | (
        frozenset(SRT) if seconds * 1000 < LATENCY else frozenset())
    return Fault(f"outage-{seconds:g}", f"nothing passes for {seconds:g} s", rule("block"), seconds,
                 by_kind(tcp, 2.0, **{"srt-caller": caller}), frozenset(NETWORK), whole, short_hold=short,
                 from_flow=True)


CONNECTED = frozenset(TCP) | frozenset(SRT)
HOLD, SHORT_HOLD = 10.0, 4.0

FAULTS = [
    *(outage(seconds) for seconds in (0.1, 0.3, 1, 3, 10, 60)),
    Fault("start", "nothing passes at first, for 5 s", from_the_start, 5.0,
          by_kind(GOP + 0.75, 2 + RETRY, **{"srt-listener": 3}), frozenset(NETWORK), from_flow=True, at_start=True),
    Fault("end", "nothing passes from 2 s before the end on", until_the_end, 2.0, by_kind(0, 0), CONNECTED, is_end=True),
    Fault("rate-0.5", "half the rate", rule("rate 0.5"), 2 * HOLD, by_kind(3, 3), frozenset(NETWORK), flows=True,
          short_hold=SHORT_HOLD, damages=frozenset(SRT) | {"udp"}),
    Fault("rate-0.9", "0.9 of the rate", rule("rate 0.9"), 2 * HOLD, by_kind(3, 3), frozenset(NETWORK), flows=True,
          short_hold=SHORT_HOLD, damages=frozenset(SRT) | {"udp"}),
    Fault("loss-1", "1 % is lost", rule("loss 0.01"), HOLD, by_kind(1, 1), frozenset(NETWORK), CONNECTED,
          short_hold=SHORT_HOLD),
    Fault("loss-5", "5 % is lost", rule("loss 0.05"), HOLD, by_kind(1, 1), frozenset(NETWORK), frozenset(SRT),
          short_hold=SHORT_HOLD, flows=True),
    Fault("far", "300 ms there and back", rule("delay 0.15"), HOLD, by_kind(1, 1), frozenset(NETWORK), CONNECTED,
          short_hold=SHORT_HOLD),
    Fault("reorder", "10 % come up to 40 ms later", rule("reorder 0.1 0.04"), HOLD, by_kind(1, 1), frozenset(NETWORK),
          CONNECTED, short_hold=SHORT_HOLD),
    Fault("restart", "the peer is killed, and starts again 3 s later", restart, 3.0,
          by_kind(2, IDLE + 2), frozenset(NETWORK)),
    Fault("stop", "the peer stops reading", stop_reading, HOLD, by_kind(3, 3), CONNECTED, short_hold=SHORT_HOLD),
    Fault("answers", "the peer starts again, and its answers take 1 s longer", slow_answers, HOLD,
          by_kind(RETRY + 3, IDLE + RETRY + 2), CONNECTED, short_hold=SHORT_HOLD),
    # Two that call each other from the same ports cannot be told from what was forgotten, and UDP makes no connection.
    Fault("forget", "the box forgets the connection", forget, 3.0, by_kind(STALL + RETRY + 2, IDLE + 3),
          CONNECTED - {"srt-rendezvous"}),
    Fault("slow-disk", "the disk takes half the rate", slow_disk, HOLD, by_kind(0, 0, hls=8), frozenset({"hls"}),
          short_hold=SHORT_HOLD),
    Fault("full-disk", "the disk is full", full_disk, HOLD, by_kind(0, 0, hls=8), frozenset({"hls"}),
          short_hold=SHORT_HOLD),
    Fault("read-only", "the disk is read-only", read_only_disk, HOLD, by_kind(0, 0, hls=8), frozenset({"hls"}),
          short_hold=SHORT_HOLD),
]
ALL = [Cell(transport, fault, use) for use in USES for transport in TRANSPORTS for fault in FAULTS
       if transport in fault.carries]
ALWAYS = [f"{transport}/{fault}/encoded" for transport in SRT for fault in ("outage-0.3", "outage-3")] + [
    f"{transport}/outage-3/encoded" for transport in TCP] + ["udp/outage-1/copy", "hls/full-disk/encoded"]
"""What the short form plays whatever the seed: where a fault was that made an output dead for good."""
DRAWN = 10
LONGEST = 5.0
"""How long a fault of the short form may last."""


def matching(patterns: list[str]) -> list[Cell]:
    return [cell for cell in ALL if any(fnmatch.fnmatchcase(cell.name, pattern) for pattern in patterns)]


def short(seed: int) -> list[Cell]:
    """The cells of the short form: some that are always there, and some that the seed draws."""
    chosen = [cell for cell in ALL if cell.name in ALWAYS]
    others = [cell for cell in ALL if cell.fault.length(True) <= LONGEST and cell not in chosen]
    drawn = random.Random(seed).sample(others, DRAWN)
    return [cell for cell in ALL if cell in chosen or cell in drawn]
