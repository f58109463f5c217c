# SPDX-License-Identifier: Apache-2.0
"""The receivers behind the box, and the viewer of a directory: processes that can be killed, started and stopped."""
from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import frames
from world import EventLog, RTMPTarget, python, until

HERE = Path(__file__).parent


class RTMPPeer(RTMPTarget):
    """The measuring RTMP server."""

    def pause(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)


class ScriptPeer:
    """A script of this directory that notes what it gets in an events file, the last but one of its words, and numbers
    its connections from the last.
    """

    def __init__(self, work: Path, prefix: list[str], script: str, *words: object) -> None:
        self.script, self.words, self.prefix = script, words, prefix
        self.log = EventLog(work / "victim.events")
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        listened = len(self.log.update().times("listening"))
        first = len(self.log.times("accepted"))
        self.process = python(str(HERE / self.script), *self.words, self.log.path, first, prefix=self.prefix,
                              stdin=subprocess.DEVNULL, start_new_session=True)
        until(30, lambda: len(self.log.update().times("listening")) > listened, f"{self.script} runs")

    def kill(self) -> None:
        assert self.process
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def is_gone(self) -> bool:
        assert self.process
        return self.process.poll() == -signal.SIGKILL

    def pause(self) -> None:
        """Stops the reader; a program that receives for it goes on until nobody takes what it received."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    def is_stopped(self) -> bool:
        assert self.process
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def finish(self) -> None:
        if not self.is_gone():
            self.kill()
        self.log.update()


class HLSPeer(ScriptPeer):
    """The viewer of a directory. Its frames are known at the end alone."""

    def __init__(self, work: Path, directory: Path) -> None:
        super().__init__(work, [], "hls_peer.py", directory, work / "store")
        self.store = work / "store"

    def finish(self) -> None:
        super().finish()
        for fields in self.log.others:
            if fields[0] == "segment":
                self._decode(float(fields[1]), int(fields[2]), int(fields[3]))

    def _decode(self, arrived: float, number: int, breaks: int) -> None:
        done = subprocess.run(
            ["ffmpeg", "-v", "error", "-i", self.store / f"{number:05d}.mp4", "-map", "0:v?", "-c", "copy", "-copyinkf",
             "-f", "flv", "-"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.log.frames += [replace(frame, arrived=arrived, connection=breaks)
                            for frame in frames.from_flv(done.stdout)]
