# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what is done to the victim, how long, and what is asked of relay."""
from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import contestants
from world import CABLE

if TYPE_CHECKING:
    from run import Run

GROUPS = {
    "stall": "A target that stops",
    "drop": "A target that drops the connection",
    "start": "A target that does not let the stream begin",
    "network": "A bad network",
    "names": "Names that do not resolve",
    "crowd": "Eight of ten targets come and go",
    "clock": "The wall clock jumps",
}


@dataclass(frozen=True)
class Row:
    """One fault. Times in seconds."""

    name: str
    group: str
    title: str
    act: Callable[[Run], None]
    hold: tuple[float, float]
    """How long the fault lasts: in the scorecard, and in the short version."""
    at_start: str = ""
    """The victim's mode when the contestant starts; empty if the fault comes later."""
    needs: tuple[str, ...] = ()
    victim: str = "rtmp"
    """rtmp, far (behind a cable of its own), rtmps, srt, eight or none."""
    detected: float | None = None
    back: float | None = None
    patience: tuple[float, float] = (30, 60)
    """How long to wait for the victim to be back. The short version has it only to tell a victim that never is."""
    says: str = ""
    """What relay's words about the victim must match."""
    behind: float | None = None
    """How far the victim may get behind the healthy outputs."""
    flows: bool = False
    """The victim must get some frames in each 5 s of the fault."""
    returns: bool = False
    """The fault bites connections that come back: there must be a second one."""
    whole: bool = False
    """The victim itself must not lose anything either."""

    def heading(self, short: bool) -> str:
        return self.title.format(hold=f"{self.hold[short]:.0f}")


def stop(run: Run) -> None:
    run.begin()
    run.victim.signal(signal.SIGSTOP)
    run.hold()
    run.bit(run.victim.is_stopped())
    run.victim.signal(signal.SIGCONT)
    run.finish()


def kill(run: Run) -> None:
    run.begin()
    run.victim.kill()
    run.hold()
    run.bit(run.victim.is_gone())
    run.victim.start()
    run.finish()


def dropped(run: Run) -> list[int]:
    """How many packets each rule has taken."""
    return [int(line.split()[0]) for line in run.counted("iptables", "-nvxL", "INPUT").splitlines()[2:]]


def black_hole(run: Run) -> None:
    rules = [["INPUT", "-p", "tcp", side, str(run.victim.port), "-j", "DROP"] for side in ("--dport", "--sport")]
    run.begin()
    for rule in rules:
        run.command("iptables", "-A", *rule)
    run.hold()
    run.bit(any(dropped(run)))  # who hears nothing has nothing to say: one way may stay empty
    for rule in rules:
        run.command("iptables", "-D", *rule)
    run.finish()


def each(mode: str, first: str) -> Callable[[Run], None]:
    """The same again, 5 s after each return. The fault ends with the last of them."""
    def act(run: Run) -> None:
        run.begin()
        run.victim.tell(f"{mode} 5")
        run.victim.tell(first)
        run.hold()
        run.bit(run.accepted() or not run.is_relay)
        run.victim.tell("ok")
        run.victim.tell(first)
        run.finish()
    return act


def refuse(mode: str) -> Callable[[Run], None]:
    """Connections are reset, and those to come are treated like this."""
    def act(run: Run) -> None:
        if not run.row.at_start:
            run.begin()
            run.victim.tell(mode)
            run.victim.tell("rst")
        run.hold()
        run.bit(run.accepted() or not run.is_relay)
        run.victim.tell("ok")
        run.victim.tell("rst")
        run.finish()
    return act


def bandwidth(run: Run) -> None:
    rate = (contestants.KILOBITS + contestants.AUDIO_KILOBITS) // 2
    run.begin()
    run.command("tc", "qdisc", "add", "dev", CABLE, "root", "tbf", "rate", f"{rate}kbit", "burst", "16kb", "latency",
                "300ms")
    run.hold()
    shaped = re.search(r"overlimits (\d+)", run.counted("tc", "-s", "qdisc", "show", "dev", CABLE))
    run.bit(shaped is not None and int(shaped.group(1)) > 0)
    run.command("tc", "qdisc", "del", "dev", CABLE, "root")
    run.finish()


def loss(run: Run) -> None:
    # From here on, the receiver having got frames: what is lost of the handshake is another matter.
    run.bit(bool(run.victim.log.update().frames))
    run.begin()
    for side in ("--dport", "--sport"):
        run.command("iptables", "-A", "INPUT", "-p", "udp", side, str(run.victim.port), "-m", "statistic", "--mode",
                    "random", "--probability", "0.1", "-j", "DROP")
    run.hold()
    run.bit(all(dropped(run)))
    run.command("iptables", "-F", "INPUT")
    run.finish()


def names(delay: str) -> Callable[[Run], None]:
    def act(run: Run) -> None:
        if not run.row.at_start:
            run.begin()
            run.tell_resolver(delay)
            run.victim.tell("rst")
        run.hold()
        run.bit(run.asked() or not run.is_relay)
        run.tell_resolver("ok")
        run.finish()
    return act


def flap(run: Run) -> None:
    run.begin()
    for victim in run.victims:
        victim.tell("flap 3")
        run.pause(0.7)
    run.hold()
    run.bit(run.accepted() or not run.is_relay)
    for victim in run.victims:
        victim.tell("ok")
    run.finish()


def clock(run: Run) -> None:
    run.begin()
    for step in (3600, 0, -3600, 0):
        run.set_clock(step)
        run.hold()
        run.bit(run.saw_clock(step))
    run.finish()


FIREWALL, SHAPER, RESOLVER, CLOCK, TLS = "iptables", "tc", "resolver", "clock", "rtmps"

ALL = [
    Row("stop", "stall", "SIGSTOP {hold} s, then SIGCONT", stop, (40, 12), back=3, patience=(40, 60)),
    Row("black-hole", "stall", "black hole (DROP both ways) {hold} s", black_hole, (30, 17), needs=(FIREWALL,),
        detected=15, back=5, patience=(40, 60)),
    Row("kill", "drop", "kill -9, {hold} s later restart", kill, (10, 5), back=2, returns=True),
    Row("rst", "drop", "RST in mid-tag 5 s after each return", each("rst-each", "cut"), (30, 11), back=5, returns=True),
    Row("fin", "drop", "half-open FIN 5 s after each return", each("fin-each", "fin"), (30, 11), back=5, returns=True),
    Row("close", "drop", "server closes after each 5 s", each("close-each", "rst"), (30, 11), back=5, returns=True),
    Row("silent", "start", "accepts TCP and says nothing", refuse("silent"), (30, 13), says="^handshake:"),
    Row("silent-start", "start", "the same, at start-up", refuse("silent"), (30, 13), at_start="silent",
        says="^handshake:"),
    Row("tls", "start", "TLS handshake never ends", refuse("trickle"), (30, 13), needs=(TLS,), victim="rtmps",
        says="^tls:"),
    Row("tls-start", "start", "the same, at start-up", refuse("trickle"), (30, 13), at_start="trickle",
        needs=(TLS,), victim="rtmps", says="^tls:"),
    Row("error", "start", "RTMP `_error` on connect", refuse("connect-error"), (20, 5),
        patience=(75, 0), says="NetConnection.Connect.Rejected"),
    Row("error-start", "start", "the same, at start-up", refuse("connect-error"), (20, 5),
        at_start="connect-error", patience=(75, 0), says="NetConnection.Connect.Rejected"),
    Row("refused", "start", "publish refused", refuse("publish-denied"), (20, 5), patience=(75, 0),
        says="NetStream.Publish.Denied"),
    Row("refused-start", "start", "the same, at start-up", refuse("publish-denied"), (20, 5),
        at_start="publish-denied", patience=(75, 0), says="NetStream.Publish.Denied"),
    Row("bandwidth", "network", "half the bitrate (tc tbf) {hold} s", bandwidth, (60, 14), needs=(SHAPER,),
        victim="far", behind=5, flows=True),
    Row("loss", "network", "10 % random loss on UDP from the first data on, SRT latency 400 ms", loss, (60, 10),
        needs=(FIREWALL,), victim="srt", whole=True),
    Row("dns-slow", "names", "DNS answers after 30 s (after a drop)", names("30"), (40, 12), needs=(RESOLVER,),
        patience=(50, 60), says="^resolve:"),
    Row("dns-never", "names", "DNS never answers (at start-up)", names("never"), (40, 13), at_start="ok",
        needs=(RESOLVER,), patience=(50, 60), says="^resolve:"),
    Row("flap", "crowd", "8 of 10 targets there 3 s, away 3 s, for {hold} s", flap, (300, 20), victim="eight",
        patience=(40, 60), returns=True),
    Row("clock", "clock", "wall clock of the process stepped by ±1 h", clock, (10, 3), needs=(CLOCK,),
        victim="none", whole=True),
]
BY_NAME = {row.name: row for row in ALL}
