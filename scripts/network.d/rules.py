# SPDX-License-Identifier: Apache-2.0
"""What is asked of relay in each cell, and whether a run shows it."""
from __future__ import annotations

import cells

STUTTER = 0.5
END = 3.0
"""Seconds within which relay ends after a signal: docs/when-things-happen.md."""
LINES = 20
"""Lines in a minute that an attempt may cause: docs/operation.md."""
CONNECT = 10.0
"""Seconds until relay's first data passes after an outage that it had given the connection up in."""


def faults(cell: cells.Cell, result: dict, short: bool) -> list[str]:
    """What breaks the cell. The short form never breaks by time alone: a slow machine is no fault of relay."""
    return counts(cell, result) + ([] if short else times(cell, result))


def counts(cell: cells.Cell, result: dict) -> list[str]:
    """What must be so on any machine, however slow."""
    end, broken = result["end"], []
    if not end["on_air"]:
        broken.append("not all outputs came on air")
    if not result["bit"]:
        broken.append("the fault did not bite")
    if end["died"] or end["status"] != 0 or end["shutdown"] is None:
        broken.append(f"ended with {end['status']}")
    return broken + of_others(result) + of_victim(cell, result) + uncounted(cell, result)


def of_others(result: dict) -> list[str]:
    broken = []
    for name, output in result["outputs"].items():
        # Frames at the end of a recording that others, which never came, are shown before: told, and counted.
        excused = result["totals"]["incomplete"] if name == "recording" else 0
        for what in ("missing", "late", "repeated", "unreadable"):
            if output[what] > (excused if what == "missing" else 0):
                broken.append(f"{name}: {output[what]} frames {what}")
        if output["audio"]:
            broken.append(f"{name}: {output['audio']} packets of audio missing")
    if result["continuity"]:
        broken.append(f"srt: {result['continuity']} continuity errors")
    return broken


def of_victim(cell: cells.Cell, result: dict) -> list[str]:
    victim, told, broken = result["victim"], result["told"], []
    # relay cannot know what UDP loses.
    is_sure = cell.transport != "udp"
    if victim["back"] is None and not cell.fault.is_end:
        broken.append("there is no way back")
    if victim["unreadable"] and not cell.is_damaged:
        broken.append(f"the victim got {victim['unreadable']} unreadable frames")
    if is_sure and not victim["key"]:
        broken.append("the victim's stream begins without a keyframe")
    if victim["absent"]:
        broken.append(f"the playlist names {victim['absent']} segments that are not there")
    if cell.is_whole and victim["missing"]:
        broken.append(f"the victim lacks {victim['missing']} frames")
    if cell.is_whole and victim["continuity"]:
        broken.append(f"the victim saw {victim['continuity']} continuity errors")
    if cell.fault.flows and not victim["during"]:
        broken.append("the victim got nothing while the fault lasted")
    if is_sure and victim["missing"] and not told["lines"]:
        broken.append(f"nothing is told of {victim['missing']} frames that the victim lacks")
    if told["minute"] > LINES:
        broken.append(f"{told['minute']} lines in a minute are told of the victim")
    return broken


def uncounted(cell: cells.Cell, result: dict) -> list[str]:
    """Each frame of the program was sent or dropped, as every output counts it at the end."""
    totals, broken = result["totals"], []
    program = totals["program"]
    if program is None:
        return ["at the end nothing was said of what was sent"]
    if result["program"] != program:
        broken.append(f"all outputs together got {result['program']} of {program} frames")
    if (totals["recorded"] or 0) + totals["incomplete"] != program:
        broken.append(f"{totals['recorded']} of {program} frames count as recorded")
    for name in ("healthy", "srt", "victim"):
        if name not in totals["outputs"]:
            broken.append(f"{name} counts nothing")
            continue
        counted = totals["outputs"][name]["sent"] + totals["outputs"][name]["dropped"]
        if name == "victim" and cell.transport in cells.LISTENING:
            # It counts for each receiver, from its first frame on, and not while there is none. Before a file ends, nothing
            # passes for so long that the receiver is given up.
            has_left = cell.fault.is_end and cell.use == "file"
            is_one = result["victim"]["connections"] == 1 and not has_left
            expected = program - result["victim"]["late"] if is_one else None
        else:
            expected = program
        if expected is not None and counted != expected:
            broken.append(f"{name} counts {counted} of {expected} frames as sent or dropped")
    came, sent = result["victim"]["came"], totals["outputs"].get("victim", {}).get("sent", 0)
    if came > sent:
        broken.append(f"the victim got {came} frames, of which {sent} count as sent")
    return broken


def times(cell: cells.Cell, result: dict) -> list[str]:
    """What takes too long."""
    victim, broken = result["victim"], []
    if victim["back"] is not None and victim["back"] > cell.bound and not cell.fault.is_end:
        broken.append(f"back after {victim['back']:.2f} s, not {cell.bound:g} s")
    if cell.fault.from_flow and cell.fault.hold > cells.STALL and (victim["flowed"] or 0) > CONNECT:
        broken.append(f"nothing was sent for {victim['flowed']:.1f} s after the outage")
    if result["gap"] > STUTTER:
        broken.append(f"gap of {result['gap'] * 1000:.0f} ms at the healthy output")
    if cell.use != "file" and (result["end"]["shutdown"] or 0) > END:
        broken.append(f"ending takes {result['end']['shutdown']:.1f} s")
    return broken
