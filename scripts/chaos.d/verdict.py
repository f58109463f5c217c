# SPDX-License-Identifier: Apache-2.0
"""What is asked of relay, and whether a run shows it."""
from __future__ import annotations

import contestants
import rows

FORCED_KEYFRAMES = 1
FLAT_MIB = 8
STUTTER = 0.5
FROZEN = 2.0
"""Seconds without a frame that no other work on the machine excuses."""
DESCRIPTORS = 3
# Dispatch starts workers as they are needed and keeps them for a while, so their number at the end is as good as the most.
PEAK = 8
"""How many more of either there may be for a moment, such as while a connection is tried."""


def limits(short: bool) -> dict[str, float]:
    """The bounds of time in seconds. The short version runs beside other work: what is over its bounds is only told."""
    frame = 1 / contestants.RATE
    return {"gap": STUTTER if short else frame + 0.020,
            "slip": 2.0 if short else 0.2, "end": 8 if short else 3, "more": 6 if short else 0}


def faults(row: rows.Row, result: dict, short: bool) -> list[str]:
    """What breaks the row. The short version never breaks by time alone: a slow machine is no fault of relay."""
    return counts(row, result, short) + ([] if short else times(row, result, short))


def counts(row: rows.Row, result: dict, short: bool) -> list[str]:
    """What must be so on any machine, however slow."""
    broken = []
    for name, output in result["outputs"].items():
        for what in ("missing", "late", "repeated"):
            if output[what]:
                broken.append(f"{name}: {output[what]} frames {what}")
        if output["audio"]:
            broken.append(f"{name}: {output['audio']} packets of audio missing")
    for what in ("unreadable", "continuity"):
        if result[what]:
            broken.append(f"healthy outputs: {result[what]} {what}")
    if result["forced"] > FORCED_KEYFRAMES:
        broken.append(f"{result['forced']} forced keyframes in 2 s")
    end = result["end"]
    if not end["on_air"]:
        broken.append("not all healthy outputs came on air")
    if not result["bit"]:
        broken.append("the fault did not bite")
    if end["died"] is not None or end["status"] != 0 or end["shutdown"] is None:
        broken.append(f"ended with {end['status']}")
    if row.says and not result["words"]["says"]:
        broken.append("does not name the step and the reason")
    if victim := result.get("victim"):
        broken += of_victim(row, victim)
        # Told in both versions: the short one waits for a minute, which takes as long only where it does not come.
        if row.patience[short] and victim["back"] is None:
            broken.append("the victim does not come back")
    return broken + grown(result["resources"])


def of_victim(row: rows.Row, victim: dict) -> list[str]:
    broken = []
    if not victim["key"]:
        broken.append("the victim's stream begins without a keyframe")
    if victim["unreadable"]:
        broken.append(f"the victim got {victim['unreadable']} unreadable frames")
    if row.whole and victim["continuity"]:
        broken.append(f"the victim saw {victim['continuity']} continuity errors")
    if row.whole and victim["missing"]:
        broken.append(f"the victim lacks {victim['missing']} frames")
    if row.returns and victim["connections"] < 2:
        broken.append("the fault did not bite: there was no second connection")
    return broken


def grown(resources: dict) -> list[str]:
    if not resources:
        return ["nothing is known of its memory, threads and descriptors"]
    broken = []
    for name in ("descriptors", "threads"):
        if resources[name][2] > resources[name][0] + PEAK:
            broken.append(f"up to {resources[name][2]} {name} instead of {resources[name][0]}")
    if resources["descriptors"][1] > resources["descriptors"][0] + DESCRIPTORS:
        broken.append("descriptors leak")
    if resources["grown"] > FLAT_MIB * 1024:
        broken.append("memory grows")
    return broken


def times(row: rows.Row, result: dict, short: bool) -> list[str]:
    """What takes too long."""
    limit, broken = limits(short), []
    for name, gap in result["gaps"].items():
        if gap["gap"] > limit["gap"] and not is_machines(gap):
            broken.append(f"{name}: gap of {gap['gap'] * 1000:.0f} ms")
    if result["slip"] > limit["slip"]:
        broken.append(f"{result['slip']:.1f} s behind real time")
    if row.detected and (result["words"]["detected"] or 1e9) > row.detected + limit["more"]:
        broken.append("not detected in time")
    if victim := result.get("victim"):
        broken += delays(row, victim, short)
    if (result["end"]["shutdown"] or 0) > limit["end"]:
        broken.append(f"ending takes {result['end']['shutdown']:.1f} s")
    return broken


def delays(row: rows.Row, victim: dict, short: bool) -> list[str]:
    """What the victim gets too late."""
    broken = []
    if row.behind and victim["lag"] > row.behind:
        broken.append(f"the victim is {victim['lag']:.1f} s behind")
    if row.flows and not victim["window"]:
        broken.append("the victim got nothing in 5 s of the fault")
    back = victim["back"]
    if row.patience[short] and row.back and back is not None and back > row.back + limits(short)["more"]:
        broken.append(f"the victim is back after {back:.1f} s")
    return broken


def may_replay(row: rows.Row, result: dict, short: bool) -> bool:
    """Whether nothing was wrong but a gap for which the machine was busy. What broke once is never played again."""
    return "outputs" in result and disturbed(result, short) and not faults(row, result, short)


def disturbed(result: dict, short: bool) -> bool:
    """Whether a gap is too long, but the machine was busy meanwhile: such a run shows nothing of the gap, which the
    short version does not ask for.
    """
    bound = limits(short)["gap"]
    return not short and any(gap["gap"] > bound and is_machines(gap) for gap in result["gaps"].values())


def is_machines(gap: dict[str, float]) -> bool:
    """Whether somebody waited for a core half the time that a gap is too long. It then shows nothing of the contestant:
    on a machine that has nothing else to do, nobody waits while a tool is frozen.
    """
    return gap["gap"] < FROZEN and gap["machine"] >= (gap["gap"] - limits(short=False)["gap"]) / 2
