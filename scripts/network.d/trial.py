# SPDX-License-Identifier: Apache-2.0
"""Plays one cell of the matrix for real, and writes what was measured as JSON.

Started by play.py in namespaces of its own (network, mounts, processes), which end with it.
"""
from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import cells
import contestants
import judge
import measure
from box import FAR, NEAR
from peers import HERE, HLSPeer, RTMPPeer, ScriptPeer
from world import EventLog, RTMPTarget, SRTTarget, Subject, python, until

WARM_UP = 3.0
MEASURED = 4.5
"""Seconds that the box needs to know the rate."""
TAIL = 3.0
FULL_PATIENCE, SHORT_PATIENCE = 40.0, 30.0
PRIORITY = -10
HEALTHY_LATENCY = 800
"""Milliseconds, of the SRT receiver that nothing happens to: a busy machine must not look like a loss."""
INPUT_PORT = 1940
DISK = 24 << 20


class BoxControl:
    """The middlebox, in a process of its own."""

    def __init__(self, work: Path, seed: int) -> None:
        self.log = EventLog(work / "box.events")
        self.process = python(str(HERE / "box.py"), "--events", self.log.path, "--seed", seed, stdin=subprocess.PIPE,
                              text=True)
        until(30, lambda: bool(self.log.update().times("listening")), "the box runs")
        self.prefix = ["nsenter", "--net", "--target", str(self.process.pid)]

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def did_something(self) -> bool:
        """Whether the rule before lost or delayed a packet."""
        until(5, lambda: bool(self.log.update().times("did")), "the box obeys")
        did = [fields for fields in self.log.others if fields[0] == "did"][-1]
        return int(did[2]) + int(did[3]) > 0


class Trial:
    """The world of one cell, which the fault acts on."""

    def __init__(self, cell: cells.Cell, options: dict) -> None:
        self.cell, self.options, self.work = cell, options, Path(options["work"])
        self.random = cell.random(options["seed"])
        self.began = self.ended = self.interrupted_at = 0.0
        self.shutdown: float | None = None
        self.bites: list[bool] = []
        self.environment: dict[str, str] = {}
        self.healthy = RTMPTarget(self.work, "healthy")
        self.srt = SRTTarget(self.work, "srt", HEALTHY_LATENCY)
        self.disk = self.work / "disk"
        self.recording = self.work / "recording"
        self.box: BoxControl | None = None
        self.publisher: subprocess.Popen | None = None

    # --- What faults use ---

    def begin(self) -> None:
        self.began = time.time()

    def finish(self) -> None:
        self.ended = time.time()

    def hold(self) -> None:
        time.sleep(self.cell.fault.length(self.options["short"]))

    def bit(self, shown: bool) -> None:
        self.bites.append(shown)

    def set_disk_rate(self, rate: int) -> None:
        with (self.work / "rate").open("r+b") as file:
            file.write(struct.pack("=q", rate))

    def slowed_writes(self) -> int:
        return struct.unpack("=qq", (self.work / "rate").read_bytes())[1]

    def fill_disk(self) -> bool:
        """Takes all room for as long as the fault lasts, also what is given free meanwhile; whether there was none."""
        end, was_full = time.monotonic() + self.cell.fault.length(self.options["short"]), False
        filler = self.disk / "filler"
        with filler.open("ab", buffering=0) as file:
            while time.monotonic() < end:
                try:
                    file.write(bytes(1 << 16))
                except OSError:
                    was_full = True
                    time.sleep(0.02)
        filler.unlink()
        return was_full

    def remount(self, mode: str) -> None:
        """Nothing may be open for writing at that moment."""
        until(5, lambda: subprocess.run(["mount", "-o", f"remount,{mode}", self.disk], capture_output=True,
                                        check=False).returncode == 0, f"the disk becomes {mode}")
        self.bit(bool(os.statvfs(self.disk).f_flag & os.ST_RDONLY) == (mode == "ro"))

    # --- Setting up ---

    def prepare(self) -> None:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        if self.cell.transport == "hls":
            self.disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", self.disk], check=True)
            (self.work / "rate").write_bytes(bytes(16))
            self.environment = {"LD_PRELOAD": self.options["library"], "NETWORK_DISK": str(self.disk),
                                "NETWORK_DISK_RATE": str(self.work / "rate")}
        else:
            self.box = BoxControl(self.work, self.random.randrange(1 << 30))
        self.peer, self.output = self._make_peer()
        for target in (self.healthy, self.srt, self.peer):
            target.start()

    def _make_peer(self) -> tuple[RTMPPeer | ScriptPeer, str]:
        """The receiver, and relay's address of it."""
        transport = self.cell.transport
        if transport == "hls":
            return HLSPeer(self.work, self.disk / "live"), f"hls:{self.disk}/live#segment=2s,list=3,name=victim"
        assert self.box
        prefix, latency = self.box.prefix, f"latency={cells.LATENCY}"
        if transport in ("rtmp", "rtmps"):
            tls = ["--tls", self.options["certificate"], self.options["key"]] if transport == "rtmps" else []
            peer = RTMPPeer(self.work, "victim", *tls, address=FAR, prefix=tuple(prefix))
            trust = f",tls-ca={self.options['certificate']}" if tls else ""
            return peer, f"{transport}://{FAR}:{peer.port}/live/key#name=victim{trust}"
        if transport == "player":
            return (ScriptPeer(self.work, prefix, "player.py", NEAR, 1935, "live", "program"),
                    f"rtmp-listen://{NEAR}:1935/live/program#name=victim")
        ours, theirs = {
            "srt-caller": (f"srt://{FAR}:9000?{latency}", f"srt://{FAR}:9000?mode=listener&{latency}"),
            "srt-listener": (f"srt://{NEAR}:9000?mode=listener&{latency}", f"srt://{NEAR}:9000?mode=caller&{latency}"),
            "srt-rendezvous": (f"srt://{FAR}:9000?mode=rendezvous&{latency}",
                               f"srt://{NEAR}:9000?mode=rendezvous&{latency}"),
            "udp": (f"udp://{FAR}:5000", f"udp://{FAR}:5000"),
        }[transport]
        return ScriptPeer(self.work, prefix, "ts_peer.py", theirs), f"{ours}#name=victim"

    def command(self) -> list[str]:
        clip = self.options["clip"]
        program = {
            "encoded": ["--input", clip, *contestants.ENCODER],
            "copy": ["--input", f"rtmp-listen://127.0.0.1:{INPUT_PORT}/live/in", "--copy"],
            "file": ["--input", clip, "--copy", "--duration", f"{self.length:.0f}s"],
        }[self.cell.use]
        outputs = [f"rtmp://127.0.0.1:{self.healthy.port}/live/key#name=healthy",
                   f"srt://127.0.0.1:{self.srt.port}?latency={self.srt.latency}#name=srt", self.output]
        return [self.options["relay"], *program, *contestants.recording_flags(self.recording),
                *(word for address in outputs for word in ("--output", address))]

    @property
    def length(self) -> float:
        """Of a program that ends by itself: long enough for all that is to be seen."""
        return (MEASURED + cells.GOP + self.cell.fault.length(self.options["short"]) + max(self.cell.bound, TAIL)
                + 2 * TAIL)

    def wait_for_end(self) -> None:
        until(self.length + 30, self.has_ended)

    def interrupt(self) -> None:
        """Ends relay, and remembers how long that took."""
        self.interrupted_at = time.time()
        self.shutdown = self.subject.end()

    def publish(self) -> None:
        """Sends the clip to relay as soon as it listens."""
        def listens() -> bool:
            with socket.socket() as link:
                return link.connect_ex(("127.0.0.1", INPUT_PORT)) == 0

        until(30, listens, "relay listens")
        self.publisher = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-nostdin", "-re", "-i", self.options["clip"], "-c", "copy", "-f", "flv",
             f"rtmp://127.0.0.1:{INPUT_PORT}/live/in"], stdin=subprocess.DEVNULL)

    # --- Playing it ---

    def is_on_air(self) -> bool:
        shown = self.peer.log.update()
        victim = bool(shown.times("segment") if self.cell.transport == "hls" else shown.frames)
        return (victim or self.cell.fault.at_start) and all(target.log.update().frames for target in (self.healthy, self.srt))

    def is_back(self) -> bool:
        if self.cell.transport == "hls":
            return sum(at >= self.ended for at in self.peer.log.update().times("segment")) > 1
        seen = {frame.identity: frame.arrived for frame in self.healthy.log.update().frames[-300:]}
        return any(frame.arrived >= self.ended and frame.arrived - seen.get(frame.identity, 0) < measure.FRESH
                   for frame in self.peer.log.update().frames[-300:])

    def has_ended(self) -> bool:
        return self.subject.process.poll() is not None

    def play(self) -> dict:
        self.prepare()
        self.recording.mkdir()
        started = time.time()
        if self.cell.fault.at_start:
            self.begin()
            self.box.tell("block")
        self.subject = Subject(self.command(), self.work, self.environment)
        if self.cell.use == "copy":
            self.publish()
        until(60, lambda: self.is_on_air() or self.has_ended())
        on_air = self.is_on_air()
        if not self.cell.fault.at_start:
            warm_up = MEASURED if self.cell.fault.name.startswith("rate") else WARM_UP
            time.sleep(warm_up + self.random.uniform(0, cells.GOP))
        died = self.subject.process.poll()
        if died is None:
            self.cell.fault.act(self)
            if not self.cell.fault.is_end:
                died = self.subject.process.poll()
                self.wait()
        if not self.interrupted_at:
            self.interrupt()
        interrupted = min(self.interrupted_at, self.subject.ended_at or self.interrupted_at)
        time.sleep(1.5)
        if self.publisher:
            self.publisher.send_signal(signal.SIGKILL)
        for target in (self.healthy, self.srt, self.peer):
            target.finish()
        timeline = judge.Timeline(
            started=started, began=self.began or interrupted, ended=self.ended or interrupted, interrupted=interrupted,
            died=None if died is None else interrupted, status=self.subject.process.returncode,
            shutdown=self.shutdown, all_on_air=on_air)
        return measure.measure(self, timeline)

    def wait(self) -> None:
        """Until the program is over, or has shown what it was played for."""
        if self.cell.use == "file":
            self.wait_for_end()
            return
        patience = max(SHORT_PATIENCE if self.options["short"] else FULL_PATIENCE, self.cell.bound + TAIL)
        until(patience, lambda: self.has_ended() or self.is_back())
        time.sleep(TAIL)


def main() -> None:
    options = json.loads(sys.argv[1])
    try:
        os.nice(PRIORITY)  # what else this machine does is not to be measured
    except PermissionError:
        pass
    Path(options["work"]).mkdir(parents=True)
    cell = next(cell for cell in cells.ALL if cell.name == options["cell"])
    try:
        result = Trial(cell, options).play()
    except (OSError, TimeoutError, subprocess.CalledProcessError) as error:
        result = {"failed": f"{type(error).__name__}: {error}".replace(options["work"], "…")}
    Path(options["result"]).write_text(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the rest ends with the namespaces


if __name__ == "__main__":
    main()
