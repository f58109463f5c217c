# SPDX-License-Identifier: Apache-2.0
"""Plays one case: the sender, relay, and what was recorded."""
from __future__ import annotations

import random
import resource
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import kinds
import links
import reading
import senders
import verdicts
from kinds import Kind
from media import RATE
from stream import Sent, Studio
from verdicts import Trial

USES = ("alone", "backup", "one-of-two", "copy", "copy-video", "record-sources")
FIRST = 15.0
"""Seconds until relay must have asked for an address."""
END = 20.0
"""Seconds that relay has for its end."""
port_lock = threading.Lock()
ports_used: set[int] = set()


@dataclass(frozen=True)
class Case:
    """A kind, how it comes, and what it is used for."""

    kind: Kind
    transport: str
    use: str

    @property
    def name(self) -> str:
        return f"{self.kind.name}/{self.transport}/{self.use}"

    @property
    def is_possible(self) -> bool:
        # Only live inputs have backups.
        return self.transport in self.kind.transports and not (self.use == "backup" and self.transport == "file")


def all_cases() -> list[Case]:
    cases = [Case(kind, transport, use) for kind in kinds.ALL for transport in senders.ALL for use in USES]
    return [case for case in cases if case.is_possible]


def free_port() -> int:
    """A port that is free for TCP and UDP, below those that the system gives away."""
    with port_lock:
        while True:
            port = random.SystemRandom().randrange(20_000, 23_000)
            if port in ports_used:
                continue
            try:
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    with socket.socket(socket.AF_INET, kind) as probe:
                        probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports_used.add(port)
            return port


def command(relay: Path, case: Case, address: str, backup: Path, recording: Path) -> list[str]:
    """relay's command line for a use."""
    if case.use == "backup":
        inputs = ["--input", f"{address}#backup={backup},return=1s"]
    elif case.use in ("one-of-two", "record-sources"):
        inputs = ["--input", f"{address}#name=a", "--input", "test:#name=b"]
    else:
        inputs = ["--input", address]
    more = {"copy": ["--copy"], "copy-video": ["--copy-video"], "record-sources": ["--record-sources"]}
    coder = [] if case.use == "copy" else ["--preset", "ultrafast"] if case.use != "copy-video" else []
    return [str(relay), *inputs, *more.get(case.use, []), *coder, "--record", str(recording), "--disk-reserve", "50MB",
            "--expect", "60s", "--log-format", "json", "--no-status"]


class Subject:
    """relay under test: how much memory it takes, and what it says."""

    def __init__(self, words: list[str], log: Path) -> None:
        self.log, self.mebibytes, self.resident = log, 0.0, 0.0
        self.descriptors: tuple[int, int] | None = None
        """The usual limits of file descriptors while it is starved."""
        with log.open("wb") as file:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    @property
    def runs(self) -> bool:
        try:
            for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    self.mebibytes = int(line.split()[1]) / 1024
                elif line.startswith("VmRSS:"):
                    self.resident = int(line.split()[1]) / 1024
        except OSError:
            pass
        return self.process.poll() is None

    def starve(self, is_starved: bool) -> None:
        """Lets it open no further descriptor, or as many as before."""
        if is_starved == (self.descriptors is not None):
            return
        if self.descriptors:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, self.descriptors)
            self.descriptors = None
        else:
            # Those that it has are kept, and each new one has the lowest free number.
            taken = {int(path.name) for path in Path(f"/proc/{self.process.pid}/fd").iterdir()}
            lowest = next(number for number in range(len(taken) + 1) if number not in taken)
            hard = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)[1]
            self.descriptors = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (lowest, hard))

    def end(self) -> int | None:
        """Its status; none where it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        give_up = time.monotonic() + END
        while time.monotonic() < give_up:
            if not self.runs:
                return self.process.wait()
            time.sleep(0.1)
        self.process.kill()
        self.process.wait()
        return None


def seed_of(seed: int, case: Case) -> random.Random:
    """The case's own random numbers: the same whether it is played alone or with others."""
    return random.Random(f"{seed} {case.name}")


def form_of(case: Case, rng: random.Random) -> str:
    """flv or ts."""
    if case.transport == "rtmp":
        return "flv"
    if case.transport in ("http", "file"):
        return case.kind.form or rng.choice(["flv", "ts"])
    return "ts"


def prepare(case: Case, seed: int, master: Path, work: Path, short: bool) -> tuple[Sent, Studio]:
    """What the case sends."""
    rng = seed_of(seed, case)
    form = form_of(case, rng)
    studio = Studio(master, work, rng, case.transport, form, short, case.use)
    return case.kind.make(studio), studio


def wait(case: Case, sent: Sent, sender: senders.Sender, subject: Subject, trial: Trial) -> bool:
    """Until all was sent and shown. Whether relay ended meanwhile."""
    length = sent.frames[1] / RATE if sent.file and sent.frames else sender.length()
    most = length + verdicts.TAILS[case.transport] + 0.5
    is_file = case.transport == "file"
    ends_itself = (is_file or sent.file is not None) and case.use in ("alone", "copy", "copy-video")
    begun = time.monotonic()
    while subject.runs and not sender.failure:
        if sender.pace.begun is None and time.monotonic() - begun > FIRST:
            sender.failure = "relay asks for nothing"
        now = sender.pace.now()
        trial.resident.append((now, subject.resident))
        if sent.starved:
            subject.starve(sent.starved[0] <= now < sent.starved[1])
        if now > most + (END if ends_itself else 2.0 if sent.file else 0.0):
            break
        time.sleep(0.1)
    return not subject.runs and not ends_itself


def play(case: Case, seed: int, relay: Path, master: Path, backup: Path, work: Path, short: bool) -> dict:
    """The case's line: what was sent, and what is wrong with what came of it."""
    work.mkdir(parents=True)
    sent, studio = prepare(case, seed, master, work, short)
    sender = senders.ALL[case.transport](sent, studio.form, free_port(), work, free_port() if sent.faults else 0)
    recording = work / "recording"
    subject: Subject | None = None
    trial = Trial(case.transport, case.use, studio.gop, own=studio.own)
    try:
        links.lay(sender)
        sender.prepare()
        subject = Subject(command(relay, case, sender.address, backup, recording), work / "relay.log")
        sender.start()
        trial.died = wait(case, sent, sender, subject, trial)
    except OSError as error:
        sender.failure = sender.failure or str(error)
    finally:
        trial.status = subject.end() if subject else None
        sender.stop()
    if not subject:
        raise OSError(f"the sender cannot begin: {sender.failure}")
    trial.mebibytes, trial.late = subject.mebibytes, sender.pace.latest
    trial.log = (work / "relay.log").read_text(errors="replace").splitlines()
    regions = sent.regions
    trial.readings = [reading.read(path, regions, work) for path in sorted(recording.glob("relay_*.mp4"))]
    trial.sources = [reading.read(path, regions, work) for path in sorted(recording.glob("relay-a_*.mp4"))]
    # Times are judged where the sender was in time itself.
    found = verdicts.faults(sent, trial)
    if sender.failure:
        found.append(f"the sender: {sender.failure}")
    return {"told": sent.told, "faults": found, "late": trial.late, "memory": trial.mebibytes, "kept": trial.kept,
            "words": " ".join(map(str, subject.process.args))}  # type: ignore[union-attr]
