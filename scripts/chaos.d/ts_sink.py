# SPDX-License-Identifier: Apache-2.0
"""Reads a transport stream from standard input, notes when each frame arrived, and counts continuity errors."""
from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import contestants
import frames

PACKET = 188
H264, AAC = 0x1B, 0x0F
PERIOD = contestants.SAMPLES / contestants.SAMPLE_RATE


class Demuxer:
    """Takes packets; yields a frame when the next one begins, and the last one at the end; notes when audio is due."""

    def __init__(self, connection: int = 0) -> None:
        self.connection = connection
        self.counters: dict[int, int] = {}
        self.errors = 0
        self.map_pid = self.video_pid = self.audio_pid = -1
        self.pes, self.audio_pes = bytearray(), bytearray()
        self.audio: list[float] = []
        self.arrived = 0.0

    def packet(self, data: bytes, now: float) -> Iterator[frames.Frame]:
        pid = (data[1] & 31) << 8 | data[2]
        if data[0] != 0x47 or data[1] & 0x80:
            self.errors += 1
            return
        at, flags = 4, data[3] >> 4
        if flags & 2:
            at += 1 + data[4]
        if not flags & 1 or pid == 0x1FFF:
            return
        self._count(pid, data[3] & 15, bool(flags & 2 and data[4] and data[5] & 0x80))
        starts, body = bool(data[1] & 0x40), data[at:]
        if starts and pid == 0:
            self.map_pid = self._section(body, 10) & 0x1FFF
        elif starts and pid == self.map_pid:
            self._map(body)
        elif pid == self.video_pid:
            if starts:
                yield from self.finish()
            self.pes += body
            self.arrived = now
        elif pid == self.audio_pid:
            if starts:
                self.finish_audio()
            self.audio_pes += body

    def _count(self, pid: int, counter: int, discontinuity: bool) -> None:
        last = self.counters.get(pid)
        self.counters[pid] = counter
        if last is not None and not discontinuity and counter not in (last, (last + 1) & 15):
            self.errors += 1

    @staticmethod
    def _section(body: bytes, offset: int) -> int:
        at = 1 + body[0] + offset
        return int.from_bytes(body[at:at + 2], "big")

    def _map(self, body: bytes) -> None:
        start = 1 + body[0]
        end = start + 3 + (self._section(body, 1) & 0xFFF) - 4
        at = start + 12 + (self._section(body, 10) & 0xFFF)
        while at + 5 <= min(end, len(body)):
            pid = int.from_bytes(body[at + 1:at + 3], "big") & 0x1FFF
            if body[at] == H264:
                self.video_pid = pid
            elif body[at] == AAC:
                self.audio_pid = pid
            at += 5 + (int.from_bytes(body[at + 3:at + 5], "big") & 0xFFF)

    def finish(self) -> Iterator[frames.Frame]:
        pes, self.pes = bytes(self.pes), bytearray()
        if len(pes) < 19 or pes[:3] != b"\0\0\1":
            return
        at = 14 if pes[7] >> 6 == 3 else 9
        frame = frames.from_units(
            frames.start_coded(pes[9 + pes[8]:]), self.arrived, self.connection, self._time(pes[at:at + 5]))
        if frame:
            yield frame

    def finish_audio(self) -> None:
        pes, self.audio_pes = bytes(self.audio_pes), bytearray()
        if len(pes) >= 14 and pes[:3] == b"\0\0\1":
            first = self._time(pes[9:14])
            self.audio += [first + number * PERIOD for number in range(frames.adts(pes[9 + pes[8]:]))]

    @staticmethod
    def _time(stamp: bytes) -> float:
        high, low = (stamp[0] >> 1 & 7) << 30 | stamp[1] << 22, stamp[2] >> 1 << 15 | stamp[3] << 7 | stamp[4] >> 1
        return (high | low) / 90000


class Reader:
    """Takes bytes of a transport stream in any pieces, and notes what is in them."""

    def __init__(self, events: TextIO, connection: int = 0) -> None:
        self.events, self.demuxer, self.rest = events, Demuxer(connection), b""

    def feed(self, data: bytes, now: float) -> None:
        self.rest += data
        end = len(self.rest) - len(self.rest) % PACKET
        errors = self.demuxer.errors
        for at in range(0, end, PACKET):
            self._note(self.demuxer.packet(self.rest[at:at + PACKET], now))
        self.rest = self.rest[end:]
        if self.demuxer.errors > errors:
            self.events.write(f"continuity {now:.6f} {self.demuxer.errors - errors}\n")
        self._note_audio(now)

    def finish(self) -> None:
        """The last frame and the last audio, which nothing follows."""
        self._note(self.demuxer.finish())
        self.demuxer.finish_audio()
        self._note_audio(time.time())

    def _note(self, found: Iterator[frames.Frame]) -> None:
        for frame in found:
            self.events.write(frame.line())

    def _note_audio(self, now: float) -> None:
        for at in self.demuxer.audio:
            self.events.write(f"audio {now:.6f} {self.demuxer.connection} {at:.6f}\n")
        self.demuxer.audio.clear()


def main() -> None:
    with Path(sys.argv[1]).open("a", buffering=1) as events:
        reader = Reader(events)
        while data := sys.stdin.buffer.read1(1 << 16):
            reader.feed(data, time.time())
        reader.finish()


if __name__ == "__main__":
    main()
