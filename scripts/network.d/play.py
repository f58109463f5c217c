# SPDX-License-Identifier: Apache-2.0
"""Plays the matrix of scripts/network: which cells, with which seed, and what comes of it."""
from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
from pathlib import Path

import cells
import inputs
import scorecard
import table
from box import FAR
from runner import NAMESPACES, Runner, make_library, works

HERE = Path(__file__).parent
SETUP = 16
"""Seconds of a cell beside the fault itself, about."""
CLIP = 60
"""Seconds that the clip is longer than the longest fault: for what comes before and after it."""


def obstacle(library: str) -> str:
    """What this machine lacks; empty if nothing."""
    if not works(*NAMESPACES, "true"):
        return "no network namespaces here (they need root or user namespaces)"
    if not works(*NAMESPACES, sys.executable, "-c", "import box; box.open_interface('near', box.NEAR)"):
        return "no TUN interfaces here (they need /dev/net/tun)"
    return "" if library else "no C compiler here"


class Matrix:
    """The cells, and what they showed."""

    def __init__(self, options: argparse.Namespace, library: str) -> None:
        self.options, self.library = options, library
        self.runner = Runner(HERE / "trial.py", True, options.keep)
        self.lock = threading.Lock()
        self.number = 0

    def play(self, cell: cells.Cell) -> dict:
        with self.lock:
            self.number += 1
            work = self.options.work / f"{self.number:03d}-{cell.name.replace('/', '-')}"
        home = self.options.work
        return self.runner.run(work, {
            "cell": cell.name, "relay": str(self.options.relay), "clip": str(home / "clip.mp4"),
            "certificate": str(home / "certificate.pem"), "key": str(home / "key.pem"), "library": self.library,
            "short": self.options.short, "seed": self.options.seed})

    def all(self) -> list[table.Entry]:
        # Long ones first, so that none is left alone at the end.
        short = self.options.short
        order = sorted(self.options.cells, key=lambda cell: -cell.fault.length(short))
        entries = []
        for (cell,), result in self.runner.in_parallel(self.options.jobs, self.play, [(cell,) for cell in order]):
            entries.append(table.Entry(cell, result, short))
            print(entries[-1].line(), file=sys.stderr, flush=True)
        return sorted(entries, key=lambda entry: cells.ALL.index(entry.cell))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/network")
    parser.add_argument("--relay", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 30)
    options.cells = cells.short(options.seed) if options.short else cells.ALL
    if options.only:
        options.cells = cells.matching(options.only)
    if not options.cells:
        parser.error(f"no cell matches; there are {', '.join(cell.name for cell in cells.ALL)}")
    options.jobs = options.jobs or 4
    return options


def end(*_: object) -> None:
    raise SystemExit(143)


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # started in the background, it would be ignored
    signal.signal(signal.SIGTERM, end)
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    library = make_library(HERE / "disk.c", options.work)
    if lacks := obstacle(library):
        print(f"not played: {lacks}", file=sys.stderr)
        # Where continuous integration cannot play this, it has shown nothing.
        return 1 if os.environ.get("CI") == "true" else 0
    lengths = [SETUP + cell.fault.length(options.short) for cell in options.cells]
    minutes = sum(lengths) / options.jobs / 60
    print(f"{len(lengths)} cells, seed {options.seed}: about {minutes:.0f} min", file=sys.stderr, flush=True)
    inputs.make_clip(options.work / "clip.mp4", max(lengths) + CLIP, inputs.AS_SENT)
    inputs.make_certificate(options.work, "DNS:localhost", f"IP:{FAR}")
    entries = Matrix(options, library).all()
    text = table.scorecard(entries, options.relay, options.short, options.seed)
    if options.output:
        scorecard.write(options.output, "network", text)
    else:
        print(text)
    print(table.summary(entries), file=sys.stderr)
    broken = [entry for entry in entries if entry.broken]
    for entry in broken:
        print(f"broken: {entry.line()}", file=sys.stderr)
    if broken:
        again = f"{'--short ' * options.short}--only '{broken[0].cell.name}' --seed {options.seed}"
        print(f"to play one again: scripts/network {again}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
