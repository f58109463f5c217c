# SPDX-License-Identifier: Apache-2.0
"""Measures a cell: what each output got and could decode, when it was back, what relay counted and told."""
from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import cells
import judge
from frames import Frame
from judge import Program, Timeline
from world import Subject

if TYPE_CHECKING:
    from trial import Trial

FRESH = 1.5
"""Seconds that a frame may be behind the healthy output to count as on air again."""
FRESH_SEGMENT = 6.0
"""The same for HLS, whose frames come when their segment has ended."""
GOOD, CUT, BAD = "good", "cut", "bad"


def walk(program: Program, output: list[Frame]) -> list[str]:
    """What a decoder makes of each frame: `good`; `bad`, if a frame that it may refer to is missing or it is not of the
    program; `cut`, if it is a part of a frame and a keyframe or another connection follows.
    """
    index = {identity: number for number, identity in enumerate(program.order)}
    found: list[str] = []
    last, connection, broken = -1, None, True
    for at, frame in enumerate(output):
        number = index.get(frame.identity)
        if frame.connection != connection:
            last, connection, broken = -1, frame.connection, True
        if number is None:
            following = output[at + 1] if at + 1 < len(output) else None
            ends = following is None or following.is_key or following.connection != connection
            found.append(CUT if ends else BAD)
            broken = True
            continue
        if frame.is_key:
            broken = False
        elif not broken:
            broken = any(program.reference[identity] for identity in program.order[last + 1:number])
        found.append(BAD if broken else GOOD)
        last = max(last, number)
    return found


def totals(subject: Subject) -> dict:
    """relay's last line: frames of the program and of the recording; of each output those sent and those dropped."""
    line = next((line for _, line in reversed(subject.lines) if "done: " in line), "")
    return read_totals(line)


def read_totals(line: str) -> dict:
    program = re.search(r"done: (\d+) frames in", line)
    recorded = re.search(r"recorded: (\d+) frames", line)
    incomplete = re.search(r", (\d+) incomplete frames left out", line)
    found: dict = {"program": int(program.group(1)) if program else None,
                   "recorded": int(recorded.group(1)) if recorded else None,
                   "incomplete": int(incomplete.group(1)) if incomplete else 0, "outputs": {}}
    for part in line.split(" | "):
        sent = re.match(r"(\S+): (\d+) frames, ", part)
        if sent and sent.group(1) != "recorded":
            numbers = {word: re.search(rf", (\d+) {word}", part) for word in ("dropped", "reconnects", "keyframes")}
            found["outputs"][sent.group(1)] = {
                "sent": int(sent.group(2)), **{word: int(match.group(1)) if match else 0
                                               for word, match in numbers.items()}}
    return found


def told(subject: Subject, timeline: Timeline, home: Path) -> dict:
    """What relay said of the victim from the fault on, its first warning, and the most lines in a minute."""
    said = [(at, entry) for at, entry in subject.said_of("victim") if timeline.began <= at]
    times = [at for at, _ in said]
    warned = [entry for _, entry in said if entry.get("level") in ("warning", "error")]
    first = warned[0] if warned else said[0][1] if said else {}
    minutes = [sum(at <= other < at + 60 for other in times) for at in times]
    return {"lines": len(said), "minute": max(minutes, default=0),
            "first": first.get("message", "").replace(f"{home}/", "…/")}


def back(trial: Trial, program: Program, output: list[Frame], since: float) -> float | None:
    """How long after `since` the first frame came that can be decoded and is fresh."""
    seen = {frame.identity: frame.arrived for frame in trial.healthy.log.frames}
    fresh = FRESH_SEGMENT if trial.cell.transport == "hls" else FRESH
    for frame, state in zip(output, walk(program, output)):
        if state == GOOD and frame.arrived >= since and frame.identity in seen \
                and frame.arrived - seen[frame.identity] < fresh:
            return frame.arrived - since
    return None


def flowed(trial: Trial, timeline: Timeline) -> float | None:
    """When relay's first data passed after the fault, if a box had blocked it."""
    times = trial.box.log.update().times("flowed") if trial.box else []
    return next((at for at in times if at >= timeline.ended - 0.05), None)


def during(output: list[Frame], timeline: Timeline) -> int:
    """The frames that came while the fault lasted: in 5 s of it, where there were fewest."""
    if timeline.ended - timeline.began >= judge.WINDOW:
        return judge.fewest(output, timeline.began, timeline.ended)
    return sum(timeline.began + 1 <= frame.arrived <= timeline.ended for frame in output)


def victim(trial: Trial, timeline: Timeline, program: Program) -> dict:
    cell, log = trial.cell, trial.peer.log
    output = log.frames
    passed = flowed(trial, timeline)
    since = timeline.ended
    if cell.fault.from_flow and cell.transport in cells.TCP and passed is not None:
        since = max(since, passed)
    states = walk(program, output)
    seen = {frame.identity: frame.arrived for frame in trial.healthy.log.frames}
    return {
        **program.missing(output), "came": len({frame.identity for frame in output} & program.place.keys()),
        "unreadable": states.count(BAD), "cut": states.count(CUT),
        "key": judge.first_is_key(output), "connections": len({frame.connection for frame in output}),
        "back": back(trial, program, output, since), "back_from_end": back(trial, program, output, timeline.ended),
        "flowed": None if passed is None else passed - timeline.ended,
        "lag": max((frame.arrived - seen[frame.identity] for frame in output if frame.identity in seen), default=0.0),
        "during": during(output, timeline),
        "continuity": sum(int(fields[2]) for fields in log.others if fields[0] == "continuity"),
        "absent": sum(fields[0] == "absent" for fields in log.others)}


def measure(trial: Trial, timeline: Timeline) -> dict:
    """Everything that rules and tables read."""
    recording, audio = judge.recorded(trial.recording)
    audio = {"rtmp": trial.healthy.log.audio(), "srt": trial.srt.log.audio(), "recording": audio}
    healthy = {"rtmp": trial.healthy.log.frames, "srt": trial.srt.log.frames, "recording": recording}
    program = Program([*healthy.values()])
    outputs = {name: {**program.missing(output), "audio": judge.audio_missing(output, audio[name]),
                      "unreadable": sum(state != GOOD for state in walk(program, output))}
               for name, output in healthy.items()}
    times = [frame.arrived for frame in healthy["rtmp"]] or [timeline.started]
    # A program that ends by itself ends with its last frame.
    end = min(timeline.interrupted, times[-1]) if trial.cell.use == "file" else timeline.interrupted
    gap, _ = judge.largest_gap(healthy["rtmp"], times[0] + 1, max(end, times[0] + 1))
    return {
        "outputs": outputs, "victim": victim(trial, timeline, program), "totals": totals(trial.subject),
        "told": told(trial.subject, timeline, trial.work), "gap": gap, "program": len(program.order),
        "continuity": sum(int(fields[2]) for fields in trial.srt.log.others if fields[0] == "continuity"),
        "bit": bool(trial.bites) and all(trial.bites),
        "end": {"died": timeline.died is not None, "status": timeline.status, "shutdown": timeline.shutdown,
                "on_air": timeline.all_on_air},
        "played": time.strftime("%Y-%m-%d %H:%M", time.gmtime(timeline.started))}

