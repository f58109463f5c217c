# SPDX-License-Identifier: Apache-2.0
"""A viewer of an HLS directory: takes each segment when the playlist first names it.

`hls_peer.py DIRECTORY STORE EVENTS` copies what it takes to STORE, numbered, each with its initialization in front of
it, and notes `segment TIME NUMBER DISCONTINUITIES`.
"""
from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PERIOD = 0.05
MAP = re.compile(r'#EXT-X-MAP:.*URI="([^"]+)"')
EARLIER = "#EXT-X-DISCONTINUITY-SEQUENCE:"


def segments(playlist: str) -> Iterator[tuple[str, str, int]]:
    """Names of initialization and segment, and how many discontinuities came before it."""
    initialization, breaks = "", 0
    for line in playlist.splitlines():
        if found := MAP.match(line):
            initialization = found.group(1)
        elif line.startswith(EARLIER):
            breaks = int(line.removeprefix(EARLIER))
        elif line == "#EXT-X-DISCONTINUITY":
            breaks += 1
        elif line and not line.startswith("#"):
            yield initialization, line, breaks


def main() -> None:
    directory, store, events = map(Path, sys.argv[1:4])
    store.mkdir(exist_ok=True)
    seen: set[str] = set()
    with events.open("a", buffering=1) as file:
        file.write(f"listening {time.time():.6f}\n")
        while True:
            time.sleep(PERIOD)
            try:
                playlist = (directory / "index.m3u8").read_text()
            except OSError:
                continue
            now = time.time()
            for initialization, name, breaks in segments(playlist):
                if name in seen:
                    continue
                try:
                    data = (directory / initialization).read_bytes() + (directory / name).read_bytes()
                except OSError:
                    file.write(f"absent {now:.6f} {name}\n")
                    seen.add(name)
                    continue
                seen.add(name)
                (store / f"{len(seen):05d}.mp4").write_bytes(data)
                file.write(f"segment {now:.6f} {len(seen)} {breaks}\n")


if __name__ == "__main__":
    main()
