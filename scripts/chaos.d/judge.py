# SPDX-License-Identifier: Apache-2.0
"""Measures a run: what each output has and lacks, when, and what the contestant took."""
from __future__ import annotations

import re
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import contestants
import frames
from frames import Frame
from world import EventLog

if TYPE_CHECKING:
    from run import Run

FRAME = 1 / contestants.RATE
FRESH = 1.5
KEY_WINDOW = 2.0
AUDIO = contestants.SAMPLES / contestants.SAMPLE_RATE
EDGE = 0.5
"""Seconds by which audio may begin after the first frame, or end before the last."""
WINDOW = 5.0


@dataclass
class Timeline:
    """When what happened, as seconds of the wall clock."""

    started: float
    began: float
    ended: float
    interrupted: float
    died: float | None
    status: int
    shutdown: float | None
    all_on_air: bool


def recorded(directory: Path) -> tuple[list[Frame], dict[int, list[float]]]:
    """The frames and audio of the recording, segment after segment, each as a connection of its own."""
    found: list[Frame] = []
    audio: dict[int, list[float]] = {}
    paths = sorted(directory.glob("*.mp4")) + sorted(directory.glob("*.part"))
    for number, path in enumerate(paths):
        result = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-map", "0:a?", "-c", "copy",
                                 "-f", "flv", "-"],
                                stdin=subprocess.DEVNULL, capture_output=True, check=False)
        found += [Frame(frame.arrived, number, frame.decode_time, frame.is_key, frame.is_reference, frame.identity)
                  for frame in frames.from_flv(result.stdout)]
        audio[number] = frames.audio_of_flv(result.stdout)
    return found, audio


def audio_missing(frames: list[Frame], audio: dict[int, list[float]]) -> int:
    """Packets of audio that an output lacks: holes in their times, and what is not there beside its frames."""
    by_connection: dict[int, list[float]] = {}
    for frame in frames:
        by_connection.setdefault(frame.connection, []).append(frame.decode_time)
    count = 0
    for connection, shown in by_connection.items():
        times = sorted(audio.get(connection, []))
        if not times:
            count += round((shown[-1] - shown[0]) / AUDIO)
            continue
        count += sum(max(0, round((later - earlier) / AUDIO) - 1) for earlier, later in zip(times, times[1:]))
        for edge in (times[0] - shown[0], shown[-1] - times[-1]):
            count += round(edge / AUDIO) if edge > EDGE else 0
    return count


class Program:
    """The program as all outputs together show it: each frame's place on one timeline."""

    def __init__(self, outputs: list[list[Frame]]) -> None:
        self.place: dict[str, float] = {}
        self.reference: dict[str, bool] = {}
        for output in sorted(outputs, key=len, reverse=True):
            self._add(output)
        self.order = sorted(self.place, key=self.place.__getitem__)
        times = [self.place[identity] for identity in self.order]
        steps = [later - earlier for earlier, later in zip(times, times[1:])]
        self.holes = sum(max(0, round(step / FRAME) - 1) for step in steps)

    def _add(self, output: list[Frame]) -> None:
        by_connection: dict[int, list[Frame]] = {}
        for frame in output:
            by_connection.setdefault(frame.connection, []).append(frame)
        for group in by_connection.values():
            known = [self.place[frame.identity] - frame.decode_time for frame in group if frame.identity in self.place]
            if not known and self.place:
                continue  # nothing says where these belong
            shift = statistics.median(known) if known else 0.0
            for frame in group:
                self.place.setdefault(frame.identity, frame.decode_time + shift)
                self.reference[frame.identity] = frame.is_reference

    def missing(self, output: list[Frame]) -> dict[str, int]:
        """How many frames are missing after the output's first, and how many came before it."""
        have = {frame.identity for frame in output}
        first = next((index for index, identity in enumerate(self.order) if identity in have), len(self.order))
        absent = sum(identity not in have for identity in self.order[first:])
        return {"frames": len(output), "missing": absent + self.holes if have else len(self.order), "late": first,
                "repeated": len(output) - len(have)}

    def unreadable(self, output: list[Frame]) -> int:
        """Frames received without one that they may refer to, and those that are none of the program's."""
        index = {identity: number for number, identity in enumerate(self.order)}
        count, last, connection = 0, None, -1
        final = {frame.connection: at for at, frame in enumerate(output)}
        for at, frame in enumerate(output):
            number = index.get(frame.identity)
            if number is None:
                # Of the last one before a cut, a part may have come.
                count += at != final[frame.connection]
                continue
            if frame.connection != connection:
                broken = not frame.is_key
            else:
                broken = not frame.is_key and any(
                    self.reference[identity] for identity in self.order[(last or 0) + 1:number])
            count += broken
            last, connection = number, frame.connection
        return count


def largest_gap(output: list[Frame], after: float, until: float) -> tuple[float, float]:
    """The longest time without a frame, and when it ended."""
    times = [after, *(frame.arrived for frame in output if after <= frame.arrived <= until), until]
    return max((later - earlier, later) for earlier, later in zip(times, times[1:]))


def slip(output: list[Frame]) -> float:
    """How far the output fell behind real time from its first frame to its last, in seconds."""
    if not output:
        return 0.0
    return output[-1].arrived - output[0].arrived - (output[-1].decode_time - output[0].decode_time)


def forced_keyframes(program: Program, output: list[Frame], after: float) -> int:
    """Most keyframes in any 2 s that neither the length of a group nor the cut of a segment explains."""
    start = min(program.place.values(), default=0.0)
    keys = sorted((program.place[frame.identity] - start, frame.arrived) for frame in output if frame.is_key)
    forced = [time for (before, _), (time, arrived) in zip(keys, keys[1:])
              if arrived >= after and time - before < contestants.GOP_SECONDS - 1.5 * FRAME
              and abs(time - round(time / contestants.SEGMENT_SECONDS) * contestants.SEGMENT_SECONDS) > FRAME / 2]
    return max((sum(start <= time < start + KEY_WINDOW - FRAME / 2 for time in forced) for start in forced), default=0)


def victim(run: Run, timeline: Timeline, program: Program) -> dict:
    """What became of the targets that the fault was about: the worst of them."""
    seen = {frame.identity: frame.arrived for frame in run.healthy.log.frames}
    result: dict = {"back": 0.0, "key": True, "unreadable": 0, "lag": 0.0, "continuity": 0, "missing": 0,
                    "window": None}
    result["connections"] = min(len({frame.connection for frame in target.log.frames}) for target in run.victims)
    for target in run.victims:
        output = target.log.frames
        lags = [(frame, frame.arrived - seen[frame.identity]) for frame in output if frame.identity in seen]
        fresh = [frame for frame, lag in lags if frame.arrived >= timeline.ended and lag < FRESH]
        if not fresh:
            result["back"] = None
        elif result["back"] is not None:
            result["back"] = max(result["back"], fresh[0].arrived - timeline.ended)
        result["key"] &= first_is_key(output)
        result["unreadable"] += program.unreadable(output)
        result["lag"] = max([result["lag"], *(lag for _, lag in lags)])
        result["missing"] += program.missing(output)["missing"]
        result["continuity"] += sum(int(fields[2]) for fields in target.log.others if fields[0] == "continuity")
    if run.row.flows:
        result["window"] = fewest(run.victims[0].log.frames, timeline.began, timeline.ended)
    return result


def fewest(output: list[Frame], began: float, ended: float) -> int:
    """The fewest frames that came in any of the fault's windows of 5 s."""
    starts = [began + number * WINDOW for number in range(int((ended - began) / WINDOW))]
    return min((sum(start <= frame.arrived < start + WINDOW for frame in output) for start in starts), default=0)


def first_is_key(output: list[Frame]) -> bool:
    seen: set[int] = set()
    for frame in output:
        if frame.connection not in seen and not frame.is_key:
            return False
        seen.add(frame.connection)
    return True


def words(run: Run, timeline: Timeline) -> dict:
    """What relay said of the victim while the fault lasted."""
    said = [(at, entry) for at, entry in run.subject.said_of(run.victim_output) if at >= timeline.began]
    bad = [(at, entry["message"]) for at, entry in said if "cause" in entry]
    during = [message for at, message in bad if at <= timeline.ended + 0.5]
    matching = [message for message in during if re.search(run.row.says, message)] if run.row.says else during
    lost = [at for at, entry in said if "cause" in entry and "attempt" in entry]
    return {"detected": lost[0] - timeline.began if lost else None, "says": matching[0] if matching else "",
            "attempts": sum("connecting to" in entry["message"] for _, entry in said)}


def resources(run: Run, timeline: Timeline) -> dict:
    """Resident memory in MiB, threads, descriptors: before the fault, at the end, and the most."""
    samples = [sample for sample in run.subject.samples if sample[0] <= timeline.interrupted]
    if not samples:
        return {}
    # A fault that is there from the start: what comes in the first seconds is the encoder's and the outputs' own.
    settled = timeline.began + (8 if run.row.at_start else 0)
    before = at(settled, samples)
    result = {name: [before[index], samples[-1][index], max(sample[index] for sample in samples)]
              for index, name in enumerate(("time", "rss", "threads", "descriptors")) if index}
    # What grows shows from the first tenth of the fault to its end; before that, queues are filled for the first time.
    tenth = timeline.began + (timeline.ended - timeline.began) / 10
    result["grown"] = at(timeline.ended, samples)[1] - at(max(tenth, settled), samples)[1]
    return result


def at(time: float, samples: list[tuple[float, int, int, int]]) -> tuple[float, int, int, int]:
    return next((sample for sample in reversed(samples) if sample[0] <= time), samples[0])


def measure(run: Run, timeline: Timeline) -> dict:
    """Everything the scorecard shows of this run."""
    recording, audio = recorded(run.work / "recording")
    audio = {"rtmp": run.healthy.log.audio(), "srt": run.srt.log.audio(), "recording": audio}
    healthy = {"rtmp": run.healthy.log.frames, "srt": run.srt.log.frames, "recording": recording}
    if run.nginx:
        healthy["nginx"] = run.nginx.frames
        audio["nginx"] = run.nginx.audio
    program = Program([*healthy.values()])
    busy = EventLog(run.metronome).update().others
    result: dict = {"outputs": {name: program.missing(output) for name, output in healthy.items()}}
    for name, output in healthy.items():
        result["outputs"][name]["audio"] = audio_missing(output, audio[name])
    result["unreadable"] = sum(program.unreadable(output) for name, output in healthy.items() if name != "recording")
    result["continuity"] = sum(int(fields[2]) for fields in run.srt.log.others if fields[0] == "continuity")
    result["gaps"] = {}
    for name in ("rtmp", "srt"):
        output = healthy[name]
        # From the first second on; the program's last frames may come after the interruption.
        after = max(output[0].arrived if output else 0, timeline.started) + 1
        gap, at = largest_gap(output, after, max(timeline.interrupted, after))
        machine = sum(float(fields[2]) for fields in busy if at - gap - 0.02 < float(fields[1]) < at + 0.03)
        result["gaps"][name] = {"gap": gap, "at": at - timeline.began, "machine": machine}
    if run.victims:
        result["victim"] = victim(run, timeline, program)
    result["words"] = words(run, timeline) if run.contestant == "relay" else {}
    result["slip"] = slip(healthy["rtmp"])
    result["forced"] = forced_keyframes(program, healthy["rtmp"], timeline.began)
    result["resources"] = resources(run, timeline)
    result["end"] = {"died": timeline.died - timeline.began if timeline.died else None, "status": timeline.status,
                     "shutdown": timeline.shutdown, "on_air": timeline.all_on_air}
    result["bit"] = bool(run.bites) and all(run.bites)
    result["fault"] = timeline.ended - timeline.began
    result["played"] = time.strftime("%Y-%m-%d %H:%M", time.gmtime(timeline.started))
    return result
