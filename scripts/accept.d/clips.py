# SPDX-License-Identifier: Apache-2.0
"""Clips that many hands press and release at once while relay is on air; started by the script `clips` beside this file."""

import argparse
import collections
import dataclasses
import glob
import http.client
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time

import load
from decoded import frames_of
from load import MOST_GAP, MOST_GROWN, RATE, SETTLE, TOKEN, Relay, Window, check, failures, judge_losses, tell

HANDS = 10
# Between a command of a hand and its next, in seconds.
NEAREST, FARTHEST = 0.02, 3
# As ClipMachine has it.
FEWEST_FRAMES = 3
EXPORTED = 40
# Seconds without a command, to compare with; descriptors more at the end than in the beginning.
CALM, MOST_DESCRIPTORS = 15, 4


class Channel(Relay):
    """One channel of small frames, so that the machine is idle but for the clips."""

    channel = "relay"
    encoder = f"size: 320x180, frameRate: {RATE}, preset: ultrafast, videoBitrate: 1M"

    def ask(self, method, path, body=None):
        """The status and the body of an answer, by a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def clips(self, method="GET", path="", body=None):
        return self.ask(method, f"/v1/channels/{self.channel}/clips{path}", body)

    def listed(self):
        return {clip["id"]: clip for clip in json.loads(self.clips()[1])["clips"]}

    @property
    def program_seconds(self):
        return json.loads(self.ask("GET", f"/v1/channels/{self.channel}")[1])["programSeconds"]


class Clock(threading.Thread):
    """The time of the program, as who shows it knows it."""

    def __init__(self, relay):
        super().__init__(daemon=True)
        self.relay, self.over, self.worst = relay, threading.Event(), 0
        self.ahead = self.first = self.read()
        self.start()

    def read(self):
        begin = time.monotonic()
        seconds = self.relay.program_seconds
        return seconds - (begin + time.monotonic()) / 2

    def run(self):
        while not self.over.wait(0.25):
            self.ahead = self.read()
            if abs(self.ahead - self.first) > abs(self.worst):
                self.worst = self.ahead - self.first

    @property
    def seconds(self):
        return time.monotonic() + self.ahead

    def end(self):
        self.over.set()
        self.join()


@dataclasses.dataclass
class Command:
    """A press or a release. Times in seconds since the first."""

    clip: str
    is_press: bool
    moment: float
    sent: float = 0
    # The frame that was seen at the moment.
    frame: int = 0
    # How long after that it is sent again; 0 for never.
    again: float = 0
    # When it was really sent, and when the answer was there.
    begin: float = 0
    end: float = 0
    statuses: list = dataclasses.field(default_factory=list)


def hand(chance, name, pairs):
    """The commands of one hand, in the order in which they are meant. They are sent in another one: blocks of up to four are
    held back until the last of them, which goes first."""
    moment, commands = chance.uniform(0, FARTHEST), []
    for number in range(pairs):
        for is_press in (True, False):
            commands.append(Command(f"hand-{name}-{number}", is_press, moment))
            moment += chance.uniform(NEAREST, FARTHEST)
    first = 0
    while first < len(commands):
        block = commands[first : first + chance.randint(1, 4)]
        sent = block[-1].moment
        for command in reversed(block):
            command.sent = sent
            sent += chance.choice((0, chance.uniform(0, 0.3)))
        first += len(block)
    return commands


class Play:
    """All hands at once."""

    def __init__(self, relay, chance, pairs):
        self.relay, self.threads = relay, []
        shares = [pairs // HANDS + (number < pairs % HANDS) for number in range(HANDS)]
        self.hands = [hand(chance, number, share) for number, share in enumerate(shares)]
        for command in chance.sample(self.commands, len(self.commands) // 10):
            command.again = chance.uniform(0.001, 0.5)

    def run(self):
        self.start = time.monotonic()
        clock = Clock(self.relay)
        hands = [threading.Thread(target=self.play, args=(commands, clock)) for commands in self.hands]
        for thread in hands:
            thread.start()
        for thread in hands:
            thread.join()
        for thread in self.threads:
            thread.join()
        clock.end()
        return clock

    def play(self, commands, clock):
        # Frames are seen, and then commands sent; of two at the same time the later goes first.
        events = [(command.moment, 0, command) for command in commands]
        for place, command in enumerate(commands):
            events.append((command.sent, len(commands) - place, command))
            if command.again:
                events.append((command.sent + command.again, len(commands) - place, command))
        for moment, kind, command in sorted(events, key=lambda event: event[:2]):
            time.sleep(max(0, self.start + moment - time.monotonic()))
            if kind == 0:
                command.frame = int(clock.seconds * RATE)
                continue
            thread = threading.Thread(target=self.send, args=(command, not command.begin))
            command.begin = command.begin or time.monotonic()
            self.threads.append(thread)
            thread.start()

    def send(self, command, is_first):
        at = {"at": round(command.frame / RATE, 4)}
        try:
            if command.is_press:
                status, body = self.relay.clips("POST", "", {"id": command.clip, **at})
            else:
                status, body = self.relay.clips("POST", f"/{command.clip}/stop", at)
        except OSError as error:
            status, body = 0, str(error)
        if is_first:
            command.end = time.monotonic()
        command.statuses.append(status if 200 <= status < 300 else f"{status} {body}")

    @property
    def commands(self):
        return [command for commands in self.hands for command in commands]

    @property
    def wanted(self):
        """The frames of each clip: the first and the one behind the last."""
        return {
            press.clip: (press.frame, max(release.frame, press.frame + FEWEST_FRAMES))
            for commands in self.hands
            for press, release in zip(commands[::2], commands[1::2])
        }


def judge_presses(relay, play):
    calm = time.time()
    time.sleep(CALM)
    tell(f"without clips: {Window(relay, calm).text}")
    moment, memory = time.time(), relay.memory
    relay.forget_peak()
    clock = play.run()
    arrivals = Window(relay, moment)
    commands = play.commands
    repeats = sum(command.again > 0 for command in commands)
    statuses = collections.Counter(status for command in commands for status in command.statuses)
    good = {status: count for status, count in statuses.items() if status in (200, 201, 202)}
    bad = [status for status in statuses if status not in good]
    check(
        not bad and sum(good.values()) == len(commands) + repeats,
        f"{len(commands)} commands, {repeats} of them twice: "
        f"{', '.join(f'{count} times {status}' for status, count in sorted(good.items()))}, "
        f"{statuses.total() - sum(good.values())} others {bad[:1]}",
    )
    before = [two.begin < one.end for hand in play.hands for one, two in zip(hand, hand[1:])]
    check(sum(before) * 2 >= len(before), f"{sum(before)} of {len(before)} were sent before the one before took effect")
    slowest = max(command.end - command.begin for command in commands) * 1000
    tell(f"the program's clock and the system's were up to {clock.worst * 1000:.0f} ms apart from where they began")
    tell(f"the slowest answer took {slowest:.0f} ms")
    check(not arrivals.missing, f"meanwhile {arrivals.text}")
    check(
        arrivals.longest <= MOST_GAP,
        f"the longest gap between frames meanwhile: {arrivals.longest:.1f} ms (bound {MOST_GAP})",
    )
    grown = relay.peak - memory
    check(grown <= MOST_GROWN, f"memory grew by {grown:.1f} MiB at most, from {memory:.1f} (bound {MOST_GROWN})")


def judge_list(relay, play):
    """Whether the clips are those that were meant; all of them, as they are listed."""
    end = time.monotonic() + 20
    clips = relay.listed()
    while any(clip["state"] in ("running", "ending") for clip in clips.values()) and time.monotonic() < end:
        time.sleep(0.2)
        clips = relay.listed()
    found = {name: (round(clip["programSeconds"] * RATE), clip["frames"]) for name, clip in clips.items()}
    wanted = {name: (first, last - first) for name, (first, last) in play.wanted.items()}
    wrong = [(name, found.get(name), frames) for name, frames in wanted.items() if found.get(name) != frames]
    lengths = [frames for _, frames in wanted.values()]
    check(
        found.keys() == wanted.keys() and not wrong,
        f"{len(found)} clips of {len(wanted)}, {min(lengths)} to {max(lengths)} frames, {len(wrong)} with others than their "
        f"commands' {wrong[:1]}",
    )
    states = collections.Counter(clip["state"] for clip in clips.values())
    check(states.keys() == {"done"}, f"their states: {dict(states)}")
    lines = relay.clips("GET", "/project.yaml")[1].decode().splitlines()
    segments = sum(line.startswith("    in: ") for line in lines)
    check(segments >= len(wanted), f"the project has {segments} segments")


def export(relay, name, is_exact):
    """Makes a file of a clip, and fetches it; the job as it ended."""
    status, body = relay.clips("POST", f"/{name}/export", {} if is_exact else {"exact": False})
    job = json.loads(body)
    end = time.monotonic() + 60
    while status == 202 and job["state"] in ("queued", "running") and time.monotonic() < end:
        time.sleep(0.05)
        job = json.loads(relay.ask("GET", f"/v1/exports/{job['id']}")[1])
    if status != 202 or job["state"] != "done":
        check(False, f"the export of {name}: {status} {job}")
        return None
    with open(f"{relay.home}/{name}.mp4", "wb") as file:
        file.write(relay.ask("GET", f"/v1/exports/{job['id']}/file")[1])
    relay.ask("DELETE", f"/v1/exports/{job['id']}")
    return job


def export_some(relay, play, chance):
    """Exports clips, every other one without coding anything again; their jobs by name, and the memory after a few."""
    names = chance.sample(sorted(play.wanted), min(EXPORTED, len(play.wanted)))
    moment, jobs = time.time(), {}
    memory = []
    for number, name in enumerate(names):
        jobs[name] = export(relay, name, number % 2 == 0), number % 2 == 0
        memory.append(relay.memory)
    arrivals = Window(relay, moment)
    tell(f"while {len(jobs)} were exported: {arrivals.text}")
    check(not arrivals.missing, f"{arrivals.missing} frames missing meanwhile")
    # The encoder and the libraries that the first need stay.
    warm = memory[len(memory) // 4]
    tell(f"memory after each tenth: {', '.join(f'{value:.1f}' for value in memory[::10])} MiB")
    check(memory[-1] - warm <= MOST_GROWN, f"memory grew by {memory[-1] - warm:.1f} MiB behind the first quarter of them")
    clips = relay.listed()
    held = sum(clips.get(name, {"isHeld": True})["isHeld"] for name in jobs)
    check(not held, f"{len(jobs)} clips exported, {held} of them still hold their files")
    return {name: job for name, job in jobs.items() if job[0]}, warm


def judge_deletion(relay, play, memory, descriptors):
    """That nothing is left of clips that are deleted."""
    recordings = f"/v1/channels/{relay.channel}/recordings"
    listed = json.loads(relay.ask("GET", f"{recordings}?limit=100")[1])["recordings"]
    closed = [entry["id"] for entry in listed if entry["state"] == "finished"]
    # The channel was on air for a while before the first press: those files hold none.
    held = [entry for entry in closed if relay.ask("DELETE", f"{recordings}/{entry}")[0] == 409]
    check(held, f"{len(held)} of {len(closed)} closed files are kept for the clips in them")
    statuses = collections.Counter(relay.clips("DELETE", f"/{name}")[0] for name in play.wanted)
    check(statuses.keys() == {204}, f"all clips deleted: {dict(statuses)}")
    status = relay.clips("GET", f"/{next(iter(play.wanted))}")[0]
    check(not relay.listed() and status == 404, f"{len(relay.listed())} clips are listed, one that was is {status}")
    path, rows = f"{relay.recordings}/.relay.sqlite", None
    end = time.monotonic() + 10
    while rows != 0 and time.monotonic() < end:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as catalogue:
            rows = catalogue.execute("SELECT count(*) FROM clips").fetchone()[0]
        catalogue.close()
        time.sleep(0.1)
    check(rows == 0, f"{rows} clips in the catalogue")
    statuses = collections.Counter(relay.ask("DELETE", f"{recordings}/{entry}")[0] for entry in held)
    check(statuses.keys() == {202}, f"their files may be deleted: {dict(statuses)}")
    left = os.listdir(f"{relay.recordings}/.relay-exports") if os.path.isdir(f"{relay.recordings}/.relay-exports") else []
    check(not left, f"{len(left)} files of exports are left")
    time.sleep(SETTLE)
    grown, more = relay.memory - memory, relay.descriptors - descriptors
    check(grown <= MOST_GROWN, f"memory: {grown:.1f} MiB more than after the first exports (bound {MOST_GROWN})")
    check(more <= MOST_DESCRIPTORS, f"descriptors: {more} more than the {descriptors} before (bound {MOST_DESCRIPTORS})")


def judge_frames(relay, play, jobs):
    """The recording, and the clips against it."""
    paths = sorted(glob.glob(f"{relay.recordings}/**/*.mp4", recursive=True))
    recorded = [frame for path in paths for frame in frames_of(path, relay.home)]
    breaks = sum(two[0] != one[0] + 1 for one, two in zip(recorded, recorded[1:]))
    check(
        not breaks and recorded[0][0] == 0,
        f"{len(recorded)} frames in {len(paths)} files, from number {recorded[0][0]} on, {breaks} breaks in their numbers",
    )
    same = coded = 0
    for name, (job, is_exact) in jobs.items():
        first, end = play.wanted[name]
        frames = frames_of(f"{relay.home}/{name}.mp4", relay.home)
        numbers = [number for number, _ in frames]
        if not is_exact and numbers:
            # Whole from the keyframe before on, and to the last frame that is needed to decode them.
            holds = numbers[0] <= first and numbers[-1] >= end - 1
            first, end = numbers[0], numbers[-1] + 1
        else:
            holds = True
        source = recorded[first:end]
        equal = sum(one[1] == two[1] for one, two in zip(frames, source))
        holds = holds and numbers == [number for number, _ in source]
        holds = holds and equal >= (len(source) if not is_exact else job["copiedFrames"])
        same, coded = same + equal, coded + len(source) - equal
        if not holds:
            check(False, f"{name}: {len(frames)} frames, {equal} as recorded; wanted {first} to {end}: {numbers[:3]} {job}")
    check(
        same,
        f"{len(jobs)} exported clips have their frames and no other; {same} frames decode to the bytes that the "
        f"recording's do, {coded} coded again have the same numbers",
    )


def main():
    parser = argparse.ArgumentParser()
    for name in ("--relay", "--home"):
        parser.add_argument(name, required=True)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chance = random.Random(options.seed)
    relay = Channel(options)
    try:
        relay.wait_until_ready()
        descriptors = relay.descriptors
        play = Play(relay, chance, options.pairs)
        judge_presses(relay, play)
        judge_list(relay, play)
        jobs, warm = export_some(relay, play, chance)
        judge_deletion(relay, play, warm, descriptors)
        judge_losses(relay, "at the end")
        load.judge_end(relay)
        judge_frames(relay, play, jobs)
    finally:
        relay.end()


if __name__ == "__main__":
    load.conclude(main, "clips")
