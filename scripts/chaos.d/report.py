# SPDX-License-Identifier: Apache-2.0
"""Writes the scorecard."""
from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import contestants
import rows
import verdict

HEADER = [
    "fault", "tool", "RTMP", "SRT", "recording", "nginx", "audio", "longest gap RTMP, SRT, ms", "slowed by, s",
    "detected, s", "back, s",
    "key first", "behind, s", "unreadable", "forced keys in 2 s", "memory, MiB", "threads", "descriptors", "end"]
LEGEND = """\
What the columns say. **RTMP, SRT, recording, nginx**: frames missing at the healthy outputs and in the recording;
each frame is told by a hash of its slices, and all outputs are compared with each other and with a gapless
timeline. What a tool leaves undelivered at its end is missing, too. **Audio**: packets of audio missing there, all
outputs together, told by holes in their times and by half a second without audio beside frames. nginx is a real
server beside our own measuring one. **Longest gap**: between two frames as they arrived there, a frame being
{frame:.1f} ms and the bound {bound:.1f} ms; in brackets for how long of that somebody on this machine waited for a
core. **Slowed by**: how far the healthy RTMP output fell behind real time. **Detected**: until relay said that the
target was lost. **Back**: from the end of the fault until the victim gets frames that are at most 1.5 s behind the
healthy outputs. **Key first**: whether each of its connections began with a keyframe. **Behind**: how late the
victim's latest frame was, beside the healthy output. **Unreadable**: frames at the victim whose reference it did
not get, or that are none of the program's. **Forced keys in 2 s**: most keyframes in any 2 s of the program that
neither the length of a group nor the cut of a segment explains; at most one is allowed. **Memory, threads,
descriptors**: of the tool, before the fault, at its end and, in brackets, the most. A row in which nothing shows that
the fault came to the victim is broken: it **did not bite**. **Not shown**: a gap was over the bound while somebody
waited for a core, which does not count as holding; such a run, and no other, may be played a second time, and then
says so.
`–` says that it does not apply.
"""


@dataclass
class Entry:
    """One run, judged."""

    row: rows.Row
    contestant: str
    result: dict
    short: bool

    @property
    def broken(self) -> list[str]:
        if "failed" in self.result:
            return [self.result["failed"]]
        if self.contestant != "relay" or "not_run" in self.result:
            return []
        return verdict.faults(self.row, self.result, self.short)

    @property
    def late(self) -> list[str]:
        """What took long in a short run, which tells it and does not judge it."""
        if not self.short or self.contestant != "relay" or "outputs" not in self.result:
            return []
        return verdict.times(self.row, self.result, self.short)

    @property
    def holds(self) -> bool:
        return "outputs" in self.result and not self.broken and not verdict.disturbed(self.result, self.short)

    @property
    def outcome(self) -> str:
        if "not_run" in self.result:
            return f"not run: {self.result['not_run']}"
        if "failed" in self.result:
            return f"**failed**: {self.result['failed']}"
        if self.contestant == "relay":
            tries = f" (try {self.result['tries']})" if self.result.get("tries", 1) > 1 else ""
            if self.broken:
                return f"**broken**{tries}: " + "; ".join(self.broken)
            late = f" (not judged: {'; '.join(self.late)})" if self.late else ""
            return ("holds" if self.holds else "**not shown**: the machine was busy") + tries + late
        end = self.result["end"]
        if end["died"] is not None:
            return f"ended by itself {end['died']:.0f} s after the fault began"
        if end["shutdown"] is None:
            return "had to be killed"
        return "ran" if end["on_air"] else "not all healthy outputs came on air"

    def line(self) -> str:
        return f"{self.row.name:14} {self.contestant:12} {self.outcome}"

    def cells(self) -> list[str]:
        cells = [self.row.heading(self.short), contestants.TITLES[self.contestant]]
        if "outputs" not in self.result:
            return cells + ["–"] * (len(HEADER) - 3) + [self.outcome]
        outputs = self.result["outputs"]
        for name in ("rtmp", "srt", "recording", "nginx"):
            cells.append(missing(outputs[name]) if name in outputs else "–")
        cells.append(str(sum(output["audio"] for output in outputs.values())))
        cells.append(", ".join(gap_text(gap) for gap in self.result["gaps"].values()))
        cells.append(f"{max(0.0, self.result['slip']):.1f}")
        victim = self.result.get("victim")
        detected = self.result["words"].get("detected")
        hides = detected is None or self.row.at_start or self.row.whole
        cells.append("–" if hides else f"{detected:.1f}")
        cells += victim_cells(victim, self.row, self.short) if victim else ["–"] * 4
        cells.append(str(self.result["forced"]))
        used = self.result["resources"]
        mebibytes = [value / 1024 for value in used.get("rss", [0, 0, 0])]
        cells.append("{:.0f} → {:.0f} (≤ {:.0f})".format(*mebibytes))
        cells += ["{} → {} (≤ {})".format(*used.get(name, "–––")) for name in ("threads", "descriptors")]
        return [*cells, self.outcome]


def missing(output: dict) -> str:
    if not output["frames"]:
        return "all"
    return str(output["missing"]) + (f" ({output['late']} before its first)" if output["late"] else "")


def gap_text(gap: dict) -> str:
    return f"{gap['gap'] * 1000:.0f}" + (f" ({gap['machine'] * 1000:.0f})" if gap["machine"] else "")


def victim_cells(victim: dict, row: rows.Row, short: bool) -> list[str]:
    back = "not seen" if victim["back"] is None else f"{victim['back']:.1f}"
    if victim["back"] is None and not row.patience[short]:
        back = "–"
    unreadable = str(victim["unreadable"])
    if row.whole:
        back, unreadable = "–", f"{unreadable} ({victim['continuity']} continuity errors)"
    return [back, "yes" if victim["key"] else "**no**", f"{victim['lag']:.1f}", unreadable]


def version(*words: str) -> str:
    try:
        text = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return "not installed"
    found = re.search(r"(?<![-\d])\d+\.\d+[.\d]*", text.stdout + text.stderr)
    return found.group() if found else "unknown"


def hardware() -> str:
    """Processors, memory and system of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    system = re.search(r'PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text())
    return (f"{os.cpu_count()} cores ({model.group(1) if model else platform.machine()}), {memory:.0f} GiB, "
            f"{system.group(1) if system else 'Linux'}, kernel {platform.release().split('-')[0]}")


def machine(relay: Path, entries: list[Entry]) -> str:
    played = {entry.contestant for entry in entries}
    versions = {}
    if "relay" in played:
        versions["relay"] = (str(relay), "--version")
    if played & {"ffmpeg", "ffmpeg-fifo"}:
        versions["FFmpeg"] = ("ffmpeg", "-version")
    if "gst" in played:
        versions["GStreamer"] = ("gst-launch-1.0", "--version")
    versions["srt-live-transmit"] = ("srt-live-transmit", "-version")
    if any("nginx" in entry.result.get("outputs", {}) for entry in entries):
        versions["nginx"] = ("/usr/sbin/nginx", "-v")
    return f"{hardware()}; " + ", ".join(f"{name} {version(*words)}" for name, words in versions.items())


def summary(entries: list[Entry]) -> str:
    """How many of relay's rows hold, and what became of the others."""
    of_relay = [entry for entry in entries if entry.contestant == "relay"]
    holds = sum(entry.holds for entry in of_relay)
    broken = sum(bool(entry.broken) for entry in of_relay)
    not_run = sum("not_run" in entry.result for entry in of_relay)
    return (f"relay: of {len(of_relay)} faults {holds} hold, {broken} are broken, {not_run} could not be played here, "
            f"and {len(of_relay) - holds - broken - not_run} are not shown, because the machine was busy.")


def hours(entries: list[Entry]) -> str:
    """When each tool was played."""
    begun: dict[str, list[str]] = {}
    for entry in entries:
        if "played" in entry.result:
            begun.setdefault(contestants.TITLES[entry.contestant], []).append(entry.result["played"])
    return "Runs began, UTC: " + "; ".join(
        f"{name} {min(times)} to {max(times)}" for name, times in begun.items()) + "."


def scorecard(entries: list[Entry], relay: Path, short: bool) -> str:
    limit = verdict.limits(short)["gap"] * 1000
    lines = [
        "# Chaos scorecard", "",
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, measured by `scripts/chaos{' --short' * short}`.",
        "", machine(relay, entries) + ".", "",
        f"{summary(entries)} {hours(entries)} Load average at the end: {os.getloadavg()[1]:.1f}.", "",
        f"Each fault was played for real: 640x360 at {contestants.RATE} frames a second, x264 superfast at "
        f"{contestants.KILOBITS} kbit/s, to two RTMP targets and one SRT receiver while recording. One target, "
        "the victim, gets the fault. Each tool got the same file, the same settings and the same faults, "
        "at a raised priority where it may.", "",
        LEGEND.format(frame=1000 / contestants.RATE, bound=limit)]
    for group, title in rows.GROUPS.items():
        chosen = [entry for entry in entries if entry.row.group == group]
        if not chosen:
            continue
        lines += [f"## {title}", "", "| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
        lines += ["| " + " | ".join(entry.cells()) + " |" for entry in chosen]
        said = [(entry.row.heading(short), entry.result["words"]["says"]) for entry in chosen
                if entry.result.get("words", {}).get("says")]
        if said:
            lines += ["", "What relay said of the victim:", ""] + [f"- {title}: `{text}`" for title, text in said]
        lines.append("")
    return "\n".join(lines)
