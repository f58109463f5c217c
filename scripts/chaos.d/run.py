# SPDX-License-Identifier: Apache-2.0
"""One contestant, one fault: plays it for real and writes what was measured as JSON.

Started by main.py in namespaces of its own (network, mounts, processes); the last argument says whether it was.
"""
from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import contestants
import judge
import rows
from nginx import NginxTarget
from world import FAR, EventLog, RTMPTarget, SRTTarget, Subject, python, until

WARM_UP = 4.0
TAIL = 4.0
PRIORITY = -10
FRESH = 1.5
"""How far a frame may be behind the healthy output to count as on air again."""


class Run:
    """The world of one run, which the fault acts on."""

    def __init__(self, row: rows.Row, contestant: str, work: Path, options: dict) -> None:
        self.row, self.contestant, self.work, self.options = row, contestant, work, options
        self.began = self.ended = 0.0
        self.environment: dict[str, str] = {}
        self.bites: list[bool] = []
        """What shows that the fault came to the victim."""
        self.resolver: subprocess.Popen | None = None
        self.healthy = RTMPTarget(work, "healthy")
        self.nginx = NginxTarget(work) if options["nginx"] else None
        # The short version plays several rows at once, and SRT loses what a receiver that waits for a core gets too late.
        self.srt = SRTTarget(work, "srt", 800 if options["short"] else 200)
        self.victims = self._make_victims()
        self.victim = self.victims[0] if self.victims else None
        self.metronome = work / "metronome.events"

    def _make_victims(self) -> list[RTMPTarget] | list[SRTTarget]:
        kind, mode = self.row.victim, ["--mode", self.row.at_start or "ok"]
        if kind == "srt":
            return [SRTTarget(self.work, "victim", 400)]
        if kind == "rtmps":
            mode += ["--tls", self.options["certificate"], self.options["key"]]
        count = {"eight": 8, "none": 0}.get(kind, 1)
        return [RTMPTarget(self.work, f"victim{number or ''}", *mode, far=kind == "far") for number in range(count)]

    # --- What faults use ---

    def begin(self) -> None:
        self.began = time.time()

    def finish(self) -> None:
        self.ended = time.time()

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def hold(self) -> None:
        self.pause(self.row.hold[self.options["short"]])

    def command(self, *words: str) -> None:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def counted(self, *words: str) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def bit(self, shown: bool) -> None:
        self.bites.append(shown)

    @property
    def is_relay(self) -> bool:
        """Others may have given the victim up: that a fault then does not bite is their loss."""
        return self.contestant == "relay"

    def accepted(self) -> bool:
        """Whether the first victim's server was connected to since the fault began."""
        return any(at >= self.began for at in self.victim.log.update().times("accepted"))

    def asked(self) -> bool:
        """Whether the name server was asked since the fault began."""
        return any(at >= self.began for at in EventLog(self.work / "resolver.events").update().times("asked"))

    def tell_resolver(self, line: str) -> None:
        assert self.resolver and self.resolver.stdin
        self.resolver.stdin.write(line + "\n")
        self.resolver.stdin.flush()

    def set_clock(self, step: int) -> None:
        with (self.work / "clock").open("r+b") as file:
            file.write(struct.pack("=q", step))

    def saw_clock(self, step: int) -> bool:
        """Whether the contestant was told a time moved by this."""
        least, most = struct.unpack("=qq", (self.work / "clock").read_bytes()[8:24])
        return least <= step <= most

    # --- Setting up ---

    def prepare(self) -> None:
        if self.options["isolated"]:
            self.command("ip", "link", "set", "lo", "up")
        python("metronome.py", self.metronome)
        for target in [self.healthy, self.srt, *self.victims, *([self.nginx] if self.nginx else [])]:
            target.start()
        if rows.RESOLVER in self.row.needs:
            for name, text in (("resolv.conf", "nameserver 127.0.0.1\n"), ("nsswitch.conf", "hosts: files dns\n")):
                (self.work / name).write_text(text)
                self.command("mount", "--bind", str(self.work / name), f"/etc/{name}")
            self.resolver = python("resolver.py", "never" if self.row.at_start else "0",
                                   self.work / "resolver.events", stdin=subprocess.PIPE, text=True)
        if rows.CLOCK in self.row.needs:
            (self.work / "clock").write_bytes(bytes(24))
            self.environment = {"LD_PRELOAD": self.options["clock"], "CHAOS_CLOCK": str(self.work / "clock")}

    def job(self) -> contestants.Job:
        recording = self.work / "recording"
        recording.mkdir()
        host = "victim.relay.test" if rows.RESOLVER in self.row.needs else "127.0.0.1"
        scheme = "rtmp"
        if self.row.victim == "rtmps":
            scheme, host = "rtmps", "localhost"
        if self.row.victim == "far":
            host = FAR
        rtmp = [f"{scheme}://{host}:{victim.port}" for victim in self.victims if isinstance(victim, RTMPTarget)]
        rtmp.append(f"rtmp://127.0.0.1:{self.healthy.port}")
        if self.nginx:
            rtmp.append(f"rtmp://127.0.0.1:{self.nginx.port}")
        srt = [(self.srt.port, self.srt.latency)]
        srt += [(victim.port, victim.latency) for victim in self.victims if isinstance(victim, SRTTarget)]
        return contestants.Job(
            Path(self.options["clip"]), recording, [f"{url}/live/key" for url in rtmp], srt,
            Path(self.options["relay"]), self.options["certificate"])

    @property
    def victim_output(self) -> str:
        """What relay calls the victim."""
        return {"srt": "srt-2", "rtmps": "secure", "none": ""}.get(self.row.victim, "rtmp-1")

    # --- Playing it ---

    def on_air(self) -> bool:
        waiting = [self.healthy, self.srt] + ([] if self.row.at_start else self.victims)
        return all(target.log.update().frames for target in waiting)

    def is_back(self, victim: RTMPTarget | SRTTarget) -> bool:
        seen = {frame.identity: frame.arrived for frame in self.healthy.log.update().frames[-300:]}
        return any(frame.arrived >= self.ended and frame.arrived - seen.get(frame.identity, 0) < FRESH
                   for frame in victim.log.update().frames[-300:])

    def play(self) -> dict:
        self.prepare()
        job = self.job()
        started = time.time()
        if self.row.at_start:
            self.begin()
        self.subject = Subject(contestants.ALL[self.contestant](job), self.work, self.environment)
        alive = until(60, lambda: self.on_air() or self.subject.process.poll() is not None)
        all_on_air = alive and self.on_air()
        if self.subject.process.poll() is None:
            if not self.row.at_start:
                self.pause(WARM_UP)
            self.row.act(self)
            until(min(self.row.patience[self.options["short"]], 75 if self.contestant == "relay" else 30),
                  lambda: self.subject.process.poll() is not None or all(map(self.is_back, self.victims)))
            self.pause(TAIL)
        interrupted = time.time()
        died = self.subject.process.poll()
        shutdown = self.subject.end()
        time.sleep(1.5)
        for target in [self.healthy, self.srt, *self.victims, *([self.nginx] if self.nginx else [])]:
            target.finish()
        timeline = judge.Timeline(
            started=started, began=self.began or interrupted, ended=self.ended or interrupted, interrupted=interrupted,
            died=died if died is None else self.subject.ended_at, status=self.subject.process.returncode,
            shutdown=shutdown, all_on_air=all_on_air)
        return judge.measure(self, timeline)


def main() -> None:
    options = json.loads(sys.argv[1])
    try:
        os.nice(PRIORITY)  # what else this machine does is not to be measured
    except PermissionError:
        pass
    work = Path(options["work"])
    work.mkdir(parents=True)
    row = rows.BY_NAME[options["row"]]
    try:
        result = Run(row, options["contestant"], work, options).play()
    except (OSError, TimeoutError, subprocess.CalledProcessError) as error:
        result = {"failed": f"{type(error).__name__}: {error}".replace(str(work), "…")}
    Path(options["result"]).write_text(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the rest ends with the namespace, or by main.py


if __name__ == "__main__":
    main()
