# SPDX-License-Identifier: Apache-2.0
"""Plays the matrix: which runs, in which order, in namespaces of their own, and what comes of it."""
from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import contestants
import inputs
import nginx
import report
import rows
import scorecard
import verdict
from runner import NAMESPACES, Runner, make_library, works

HERE = Path(__file__).parent
SETUP = 20
"""Seconds of a run beside the fault itself, about."""
TRIES = 2


def has_tls(relay: Path) -> bool:
    """Whether relay takes the address, which nobody answers: else that is a wrong flag."""
    words = [relay, "--output", "rtmps://127.0.0.1:1/live/key#tls=insecure", "--duration", "1s", "--no-status"]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 64


class Machine:
    """What this machine lets us do."""

    def __init__(self, relay: Path, work: Path) -> None:
        self.isolated = works(*NAMESPACES, "true")
        inside = [*NAMESPACES, "sh", "-c"]
        path = "PATH=/usr/sbin:/sbin:$PATH; ip link set lo up && "
        self.clock = make_library(HERE / "clock.c", work)
        private = "" if self.isolated else "no network namespaces here (they need root or user namespaces)"
        lossy = "iptables -A INPUT -p udp -m statistic --mode random --probability 0.1 -j DROP"
        firewall = works(*inside, path + lossy)
        shaper = works(*inside, path + "tc qdisc add dev lo root tbf rate 1mbit burst 16kb latency 50ms")
        resolver = works(*inside, "mount --bind /dev/null /etc/resolv.conf")
        self.obstacles = {
            rows.FIREWALL: private or ("" if firewall else "no iptables here"),
            rows.SHAPER: private or ("" if shaper else "no tc tbf here"),
            rows.RESOLVER: private or ("" if resolver else "no private mounts here"),
            rows.CLOCK: "" if self.clock else "no C compiler here",
            rows.TLS: "" if has_tls(relay) else "this relay has no rtmps",
        }

    def obstacle(self, row: rows.Row) -> str:
        return next((self.obstacles[need] for need in row.needs if self.obstacles[need]), "")


class Matrix:
    """The runs, and what they showed."""

    def __init__(self, options: argparse.Namespace, machine: Machine) -> None:
        self.options, self.machine = options, machine
        self.runner = Runner(HERE / "run.py", machine.isolated, options.keep)
        self.lock = threading.Lock()
        self.number = 0

    def play(self, row: rows.Row, contestant: str) -> dict:
        if obstacle := self.machine.obstacle(row):
            return {"not_run": obstacle}
        result: dict = {}
        for number in range(1 if self.options.short else TRIES):
            result = {**self.once(row, contestant), "tries": number + 1}
            if contestant != "relay" or not verdict.may_replay(row, result, self.options.short):
                break
        return result

    def once(self, row: rows.Row, contestant: str) -> dict:
        with self.lock:
            self.number += 1
            work = self.options.work / f"{self.number:03d}-{row.name}-{contestant}"
        return self.runner.run(work, {
            "row": row.name, "contestant": contestant, "relay": str(self.options.relay),
            "clip": str(self.options.work / "clip.mp4"),
            "certificate": str(self.options.work / "certificate.pem"), "key": str(self.options.work / "key.pem"),
            "short": self.options.short, "clock": self.machine.clock,
            "nginx": nginx.find() is not None and not self.options.short})

    def all(self) -> list[report.Entry]:
        # Long ones first, so that none is left alone at the end.
        short = self.options.short
        pairs = [(row, contestant) for row in self.options.rows for contestant in self.options.peers]
        pairs.sort(key=lambda pair: -pair[0].hold[short])
        entries = []
        for pair, result in self.runner.in_parallel(self.options.jobs, self.play, pairs):
            entries.append(report.Entry(*pair, result, short))
            print(entries[-1].line(), file=sys.stderr, flush=True)
        peers = self.options.peers
        return sorted(entries, key=lambda entry: (rows.ALL.index(entry.row), peers.index(entry.contestant)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/chaos")
    parser.add_argument("--relay", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--row", action="append", default=[])
    parser.add_argument("--peers", default="relay")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.peers = list(contestants.ALL) if options.peers == "all" else options.peers.split(",")
    for name, known in ((options.peers, contestants.ALL), (options.row, rows.BY_NAME)):
        if unknown := [word for word in name if word not in known]:
            parser.error(f"no {', '.join(unknown)}; there are {', '.join(known)}")
    options.rows = [rows.BY_NAME[name] for name in options.row] or rows.ALL
    options.jobs = options.jobs or (4 if options.short else 1)
    return options


def seconds_of(row: rows.Row, short: bool) -> float:
    return row.hold[short] * (4 if row.victim == "none" else 1) + SETUP + (not short and row.patience[short] > 40) * 50


def end(*_: object) -> None:
    raise SystemExit(143)


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # started in the background, it would be ignored
    signal.signal(signal.SIGTERM, end)
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    machine = Machine(options.relay, options.work)
    lengths = [seconds_of(row, options.short) for row in options.rows if not machine.obstacle(row)]
    total = sum(lengths) * len(options.peers) / options.jobs
    print(f"{len(lengths)} faults, {', '.join(options.peers)}: about {total / 60:.0f} min", file=sys.stderr, flush=True)
    inputs.make_clip(options.work / "clip.mp4", max(lengths, default=0) + 120, inputs.QUICK)
    inputs.make_certificate(options.work, "DNS:localhost")
    entries = Matrix(options, machine).all()
    text = report.scorecard(entries, options.relay, options.short)
    if options.output:
        scorecard.write(options.output, "chaos", text)
    else:
        print(text)
    print(report.summary(entries), file=sys.stderr)
    for entry in entries:
        if entry.late:
            print(f"late, not judged: {entry.line()}", file=sys.stderr)
    # Where continuous integration cannot play a fault, it has shown nothing of it.
    needs_all = os.environ.get("CI") == "true"
    broken = [entry for entry in entries if entry.broken or needs_all and "not_run" in entry.result]
    for entry in broken:
        print(f"broken: {entry.line()}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
