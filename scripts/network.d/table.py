# SPDX-License-Identifier: Apache-2.0
"""Writes the network's part of the scorecard."""
from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

import cells
import contestants
import measure
import report
import rules

LEGEND = """\
Each cell is a run of its own: relay sends one program to a receiver behind a middlebox of this project (to a directory,
for HLS), beside an RTMP server, an SRT receiver and a recording that nothing happens to. The middlebox forwards IP
packets, so TCP, TLS and SRT are the real ones. Frames are told by a hash of their slices: a frame that came whole,
with all that it may refer to, decodes as it was coded. The moment of the fault within a GOP is drawn from the seed.

The first number is the time from the end of the fault until a frame comes that can be decoded and is at most {fresh:g} s
(HLS: {segment:g} s) behind the healthy output. For TCP it counts from the first data that passes after an outage,
because the kernel decides when it sends again; the time from the end of the fault follows in brackets where it is
longer. The number after it is how many frames the receiver lacks: those that relay dropped and those that were lost on
the way; then, where there are some, how many came without a frame that they may refer to. Only where a network loses
packets for good does that break nothing: with UDP, and with SRT where the network is slower than the program.

A bold cell is broken: the receiver did not come back, or too late; it got a frame without its reference; sent and
dropped frames are not the program; nothing was told of a loss; or another output or the recording lost anything. `–`
says that this cannot happen there.
"""


@dataclass
class Entry:
    """One cell, judged."""

    cell: cells.Cell
    result: dict
    short: bool

    @property
    def broken(self) -> list[str]:
        if "failed" in self.result:
            return [self.result["failed"]]
        return rules.faults(self.cell, self.result, self.short)

    @property
    def late(self) -> list[str]:
        """What took long in a short run, which tells it and does not judge it."""
        return rules.times(self.cell, self.result) if self.short and "failed" not in self.result else []

    @property
    def figures(self) -> str:
        """Back, and frames that are missing."""
        if "failed" in self.result:
            return "failed"
        victim = self.result["victim"]
        if self.cell.fault.is_end:
            return str(victim["missing"])
        back, from_end = victim["back"], victim["back_from_end"]
        if back is None:
            return f"never, {victim['missing']}"
        damaged = f", {victim['unreadable']} unreadable" if victim["unreadable"] else ""
        waited = f" ({from_end:.1f})" if from_end is not None and from_end >= back + 0.1 else ""
        return f"{back:.1f}{waited}, {victim['missing']}{damaged}"

    def line(self) -> str:
        if self.broken:
            return f"{self.cell.name:36} broken: {'; '.join(self.broken)}"
        late = f" (not judged: {'; '.join(self.late)})" if self.late else ""
        return f"{self.cell.name:36} holds: {self.figures}{late}"

    @property
    def text(self) -> str:
        return f"**{self.figures}**" if self.broken else self.figures


def summary(entries: list[Entry]) -> str:
    broken = sum(bool(entry.broken) for entry in entries)
    return f"network: of {len(entries)} cells {len(entries) - broken} hold, and {broken} are broken."


def grid(entries: list[Entry], transports: dict[str, str]) -> list[str]:
    """A table of transports and uses against the faults that can happen to them."""
    chosen = {(entry.cell.transport, entry.cell.use, entry.cell.fault.name): entry for entry in entries
              if entry.cell.transport in transports}
    faults = [fault for fault in cells.FAULTS if any(name == fault.name for _, _, name in chosen)]
    if not faults:
        return []
    heading = ["output", "program", *(fault.title for fault in faults)]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    for transport, title in transports.items():
        for use in cells.USES:
            row = [chosen.get((transport, use, fault.name)) for fault in faults]
            if any(row):
                lines.append(f"| {title} | {use} | " + " | ".join(entry.text if entry else "–" for entry in row) + " |")
    return [*lines, ""]


def said(entries: list[Entry]) -> list[str]:
    """What relay said of the victim, once for each kind of output and fault."""
    found: dict[tuple[str, str], str] = {}
    for entry in entries:
        if first := entry.result.get("told", {}).get("first"):
            found.setdefault((cells.TRANSPORTS[entry.cell.transport], entry.cell.fault.title), first)
    return [f"- {transport}, {fault}: `{text}`" for (transport, fault), text in found.items()]


def scorecard(entries: list[Entry], relay: Path, short: bool, seed: int) -> str:
    played = sorted(entry.result["played"] for entry in entries if "played" in entry.result)
    between = f" Runs began, UTC: {played[0]} to {played[-1]}." if played else ""
    versions = ", ".join(f"{name} {report.version(*words)}" for name, words in (
        ("relay", (str(relay), "--version")), ("srt-live-transmit", ("srt-live-transmit", "-version"))))
    lines = [
        "# Network scorecard", "",
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, measured by `scripts/network{' --short' * short} "
        f"--seed {seed}`; {report.hardware()}; {versions}.", "", summary(entries) + between, "",
        LEGEND.format(fresh=measure.FRESH, segment=measure.FRESH_SEGMENT), "How the program is made: " + "; ".join(f"`{use}`: {text}" for use, text in
                                                                        cells.USES.items())
        + f". 640x360 at {contestants.RATE} frames a second, {contestants.KILOBITS} kbit/s, a keyframe each "
        f"{contestants.GOP_SECONDS} s; SRT with a latency of {cells.LATENCY} ms.", "",
        "## Networks and peers", "", "Back in s, and frames that are missing:", "",
        *grid(entries, cells.NETWORK), "## The disk of an HLS output", "", *grid(entries, {"hls": "HLS"})]
    if broken := [entry for entry in entries if entry.broken]:
        lines += ["## Broken", "", *(f"- {entry.cell.name}: {'; '.join(entry.broken)}" for entry in broken), ""]
    if words := said(entries):
        lines += ["## What relay said", "", *words, ""]
    return "\n".join(lines)
