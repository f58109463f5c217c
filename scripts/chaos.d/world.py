# SPDX-License-Identifier: Apache-2.0
"""Processes and events of one run. Runs inside namespaces of its own, so that all of it ends with the run."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from frames import Frame

HERE = Path(__file__).parent
CABLE, NEAR, FAR = "near", "192.0.2.1", "192.0.2.2"


class EventLog:
    """What a sink has noted so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.frames: list[Frame] = []
        self.others: list[list[str]] = []

    def update(self) -> EventLog:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
            whole = data[:data.rfind(b"\n") + 1]
            self.offset += len(whole)
            for line in whole.decode().splitlines():
                fields = line.split()
                if fields[0] == "frame":
                    self.frames.append(Frame.from_line(fields))
                else:
                    self.others.append(fields)
        return self

    def audio(self) -> dict[int, list[float]]:
        """The times of the packets of audio, by connection."""
        found: dict[int, list[float]] = {}
        for fields in self.others:
            if fields[0] == "audio":
                found.setdefault(int(fields[2]), []).append(float(fields[3]))
        return found

    def times(self, kind: str) -> list[float]:
        return [float(fields[1]) for fields in self.others if fields[0] == kind]


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(limit: float, condition: Callable[[], bool], what: str = "") -> bool:
    """Waits for the condition; False (or an error, if it has a name) after `limit` seconds."""
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            if what:
                raise TimeoutError(f"{what} within {limit:.0f} s")
            return False
        time.sleep(0.05)
    return True


def python(script: str, *arguments: object, prefix: list[str] | None = None, **options) -> subprocess.Popen:
    return subprocess.Popen([*(prefix or []), sys.executable, str(HERE / script), *map(str, arguments)], **options)


class RTMPTarget:
    """A server of ours in a process of its own; `far` in a network of its own, at the end of a cable; with a prefix
    started by that, at another address.
    """

    def __init__(self, work: Path, name: str, *options: object, far: bool = False, address: str = "127.0.0.1",
                 prefix: tuple[str, ...] = ()) -> None:
        self.name, self.port, self.options, self.far = name, free_port(), options, far
        self.address, self.prefix = FAR if far else address, prefix
        self.log = EventLog(work / f"{name}.events")
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        listened = len(self.log.update().times("listening"))
        accepted = len(self.log.times("accepted"))
        address = "0.0.0.0" if self.far else self.address
        self.process = python("rtmp_sink.py", "--address", address, "--port", self.port, "--events", self.log.path,
                              "--first", accepted, *self.options, stdin=subprocess.PIPE, text=True,
                              prefix=["unshare", "--net"] if self.far else [*self.prefix])
        until(30, lambda: len(self.log.update().times("listening")) > listened, f"{self.name} listens")
        if self.far:
            self._lay_cable(self.process.pid)

    @staticmethod
    def _lay_cable(pid: int) -> None:
        inside = ["nsenter", "--net", "--target", str(pid)]
        for words in (["ip", "link", "add", CABLE, "type", "veth", "peer", "name", "far", "netns", str(pid)],
                      ["ip", "address", "add", f"{NEAR}/30", "dev", CABLE], ["ip", "link", "set", CABLE, "up"],
                      [*inside, "ip", "address", "add", f"{FAR}/30", "dev", "far"],
                      [*inside, "ip", "link", "set", "far", "up"]):
            subprocess.run(words, check=True)

    def tell(self, line: str) -> None:
        assert self.process and self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def is_stopped(self) -> bool:
        assert self.process
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def is_gone(self) -> bool:
        assert self.process
        return self.process.poll() == -signal.SIGKILL

    def finish(self) -> None:
        assert self.process and self.process.stdin
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.update()


class SRTTarget:
    """srt-live-transmit as the listener, and a reader of what it hands on."""

    def __init__(self, work: Path, name: str, latency: int) -> None:
        self.name, self.latency, self.port = name, latency, free_port(socket.SOCK_DGRAM)
        self.log = EventLog(work / f"{name}.events")
        self.work = work
        self.receiver: subprocess.Popen | None = None
        self.reader: subprocess.Popen | None = None

    def start(self) -> None:
        with (self.work / f"{self.name}.log").open("wb") as log:
            self.receiver = subprocess.Popen(
                ["stdbuf", "-o0", "srt-live-transmit", "-q", "-a:no",
                 f"srt://127.0.0.1:{self.port}?mode=listener&latency={self.latency}", "file://con"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.reader = python("ts_sink.py", self.log.path, stdin=self.receiver.stdout)
        hexadecimal = f":{self.port:04X}"
        until(30, lambda: hexadecimal in Path("/proc/net/udp").read_text(), f"{self.name} listens")

    def finish(self) -> None:
        for process in (self.receiver, self.reader):
            if not process:
                continue
            if process is self.receiver:
                process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        self.log.update()


class Subject:
    """The contestant: what it says, and what it takes."""

    def __init__(self, command: list[str], work: Path, environment: dict[str, str]) -> None:
        self.lines: list[tuple[float, str]] = []
        self.samples: list[tuple[float, int, int, int]] = []
        """Time, resident KiB, threads, descriptors."""
        self.ended_at: float | None = None
        self.log = (work / "subject.log").open("w")
        self.log.write(" ".join(command) + "\n")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, errors="replace",
                                        env={**os.environ, **environment})
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._sample, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append((time.time(), line.rstrip()))
            self.log.write(f"{time.time():.3f} {line}")
            self.log.flush()

    def _sample(self) -> None:
        home = Path(f"/proc/{self.process.pid}")
        while self.process.poll() is None:
            try:
                fields = dict(line.split(":", 1) for line in (home / "status").read_text().splitlines())
                self.samples.append((time.time(), int(fields["VmRSS"].split()[0]), int(fields["Threads"]),
                                     len(list((home / "fd").iterdir()))))
            except (OSError, KeyError, ValueError):
                pass
            time.sleep(0.5)
        self.ended_at = time.time()

    def said_of(self, output: str) -> list[tuple[float, dict[str, str]]]:
        """relay's log lines about one output."""
        found = []
        for at, line in list(self.lines):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("output") == output:
                found.append((at, entry))
        return found

    def end(self) -> float | None:
        """Interrupts it as Ctrl-C does; the seconds it took, or nothing if it had to be killed."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
            return time.monotonic() - began
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
