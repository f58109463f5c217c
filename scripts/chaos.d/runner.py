# SPDX-License-Identifier: Apache-2.0
"""Runs a script many times, each time in namespaces of its own, several at once, and stops all of it."""
from __future__ import annotations

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

NAMESPACES = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--net", "--mount", "--pid",
              "--fork", "--kill-child", "--mount-proc"]


def works(*words: str) -> bool:
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20)
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def make_library(source: Path, work: Path) -> str:
    """A library to be loaded before others; empty if there is nothing to compile it with."""
    library = str(work / f"{source.stem}.so")
    return next((library for compiler in ("cc", "clang", "gcc")
                 if works(compiler, "-shared", "-fPIC", "-O1", "-o", library, str(source))), "")


class Runner:
    """Starts `script` with options as JSON, and reads the result that it writes as JSON."""

    def __init__(self, script: Path, isolated: bool, keep: bool) -> None:
        self.script, self.isolated, self.keep = script, isolated, keep
        self.running: set[subprocess.Popen] = set()
        self.lock = threading.Lock()
        self.stopping = False

    def run(self, work: Path, options: dict) -> dict:
        """Runs it once, with the directory `work`, which it makes. What it says goes to a log beside that directory."""
        result = work.with_suffix(".json")
        options = {**options, "work": str(work), "result": str(result), "isolated": self.isolated}
        words = [*(NAMESPACES if self.isolated else []), sys.executable, str(self.script), json.dumps(options)]
        with work.with_suffix(".log").open("wb") as log, self.lock:
            if self.stopping:
                return {"failed": "interrupted"}
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            self.running.add(process)
        process.wait()
        self._kill(process)
        with self.lock:
            self.running.discard(process)
        if not self.keep:
            shutil.rmtree(work, ignore_errors=True)
        if not result.exists():
            said = work.with_suffix(".log").read_text(errors="replace").strip().splitlines()
            return {"failed": f"the run failed: {said[-1] if said else 'no word'}"}
        return json.loads(result.read_text())

    def in_parallel(self, jobs: int, play: Callable[..., dict], arguments: list[tuple]) -> Iterator[tuple[tuple, dict]]:
        """Calls `play` with each of the arguments, `jobs` at a time; yields them with their results as they come."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            waiting = {pool.submit(play, *words): words for words in arguments}
            try:
                for future in concurrent.futures.as_completed(waiting):
                    yield waiting[future], future.result()
            except BaseException:
                self._stop()
                pool.shutdown(cancel_futures=True)
                raise

    @staticmethod
    def _kill(process: subprocess.Popen) -> None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _stop(self) -> None:
        with self.lock:
            self.stopping = True
            for process in self.running:
                self._kill(process)
