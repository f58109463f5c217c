# SPDX-License-Identifier: Apache-2.0
"""What a case sends, and what is asked of the program that is made of it."""
from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import flv
import media
import reading
import ts
from media import RATE, Clip, Coding, Unit

LIVE = ("rtmp", "srt", "udp", "rtsp", "hls", "http")
OWN = ("rtmp", "srt", "udp", "http")
"""Those that hand on each stamp as it is made here. HLS has them, too, in segments."""
PACKETS = ("srt", "udp", "http")
PACKED = (*PACKETS, "hls")
WHOLE = (0.0, 0.0, 1.0, 1.0)
READABLE = 320, 1280
"""Columns of pictures whose relation of audio to video is measured."""
JOINS = {"hls": 4, "rtsp": 8}
"""Seconds after which relay joins, where a sender must be there before it."""


@dataclass
class Session:
    """One connection of a sender: its units, or a file that is played. Units are due since the case began."""

    units: list[Unit] = field(default_factory=list)
    packets: Callable[[list[ts.Timed]], list[ts.Timed]] | None = None
    """What is done to its packets where it is a transport stream."""
    changes: tuple[tuple[float, ts.Program], ...] = ()
    commands: tuple[tuple[float, tuple], ...] = ()
    """Commands of RTMP, and when they are sent."""
    codings: tuple[tuple[float, Coding], ...] = ()
    """Of fragmented MP4 by HLS: its codings, each with an initialization section, and when they begin."""
    fails: float = 0.0
    """The seconds for which an HLS server fails, from when its playlist has first told of another coding."""
    abrupt: bool = False
    """Leaves without a word."""
    intrudes: bool = False
    """Comes while another one sends, and may be turned away."""


@dataclass
class Shape:
    """What the program must look like."""

    size: tuple[int, int] = (media.WIDTH, media.HEIGHT)
    aspect: str = "1:1"
    rate: float = RATE


@dataclass(frozen=True)
class Fault:
    """What is done to the network between a sender and relay, and when: see links.py."""

    how: str
    begin: float
    end: float
    delay: float = 0.0
    """Seconds by which each answer is late, if it is slow."""


@dataclass
class Sent:
    """One case's stream."""

    told: str
    """What was done, with its numbers."""
    sessions: list[Session] = field(default_factory=list)
    file: Path | None = None
    """In place of sessions: a file that is played, or served by HTTP."""
    disturbed: list[tuple[float, float]] = field(default_factory=list)
    """When the stream is not as it should be: begin and end, when due."""
    shape: Shape = field(default_factory=Shape)
    later: Shape | None = None
    """The shape of the last file where packets are passed on as they are."""
    regions: list[tuple[float, float, float, float]] = field(default_factory=lambda: [WHOLE])
    """Where in the program the sender's picture is: x, y, width and height as parts of it."""
    moves: list[tuple[int, int]] = field(default_factory=list)
    """From which frame on the picture is in which region of an encoded program."""
    numbered: bool = True
    """Whether frames are large enough for their numbers."""
    frames: tuple[int, int] | None = None
    """The first and last frame that must be in a file's program; of a live stream its last one is known."""
    audible: bool = True
    says: str = ""
    """What a line of relay's log must match; empty where nothing needs to be told."""
    bound: float = 0.0
    """Seconds that are allowed in addition to the transport's own bound."""
    begins: float = 0.0
    """When something is there that can be shown."""
    av: bool = True
    """Whether the sender's relation of audio to video is known."""
    doubled: bool = False
    """Whether the sender shows some numbers in two frames, so that a copy does, too."""
    restarts: bool = False
    """Whether the playlist of HLS counts from 0 with each session."""
    faults: list[Fault] = field(default_factory=list)
    """What the network does, one after the other. A sender that loses its connection makes another one."""
    restamps: bool = False
    """Whether a sender that makes another connection begins its stamps at 0."""
    starved: tuple[float, float] | None = None
    """From when until when relay gets no file descriptor in addition to those that it has."""
    largest: tuple[int, int] = (0, 0)
    """The size of the largest frames, if they are not in the program's shape."""

    @property
    def units(self) -> list[Unit]:
        return [unit for session in self.sessions for unit in session.units]


class Studio:
    """Makes clips for a case. The same coding is made once."""

    def __init__(self, master: Path, work: Path, rng: random.Random, transport: str, form: str, short: bool,
                 use: str = "alone") -> None:
        self.master, self.work, self.rng, self.short = master, work, rng, short
        self.transport, self.form, self.use = transport, form, use
        self.number = 0
        self.own: dict[int, float] = {}
        """The relation of audio to video in what was coded, by second."""
        self.gop = 0.0
        joins = JOINS.get(transport, 0)
        self.at = 4.0 + joins
        """When relay has long been on air, in seconds since the sender began: what is done is done here."""
        self.held = 1.0 if transport == "hls" else 0.0
        """Seconds by which a hole in the stream is felt earlier: the segment before it ends with the next keyframe."""
        self.frames = ((9 if short else 14) + joins) * RATE
        """Frames of a usual case."""

    def pick(self, low: float, high: float) -> float:
        """A number between two, as likely to be in each octave; rounded so that it can be read."""
        value = low * (high / low) ** self.rng.random()
        return round(value, 2)

    def path(self, suffix: str) -> Path:
        self.number += 1
        return self.work / f"clip-{self.number}{suffix}"

    def clip(self, coding: Coding) -> Clip:
        path = self.file_of(coding, self.path(".flv"))
        return media.read_flv(path.read_bytes(), coding.rate, coding.samples, coding.begin)

    def file_of(self, coding: Coding, path: Path, *more: str) -> Path:
        media.encode(self.master, coding, path, *more)
        self.gop = max(self.gop, coding.gop)
        if READABLE[0] <= coding.size[0] <= READABLE[1]:
            self.own |= reading.offsets(reading.read(path, [WHOLE], self.work))
        return path

    def hevc(self, coding: Coding) -> list[bytes]:
        """The frames of a clip as access units of HEVC, none of which is reordered."""
        path, gop = self.path(".hevc"), round(coding.gop * RATE)
        frames = f"trim=start_frame={coding.begin}:end_frame={coding.begin + coding.frames},setpts=PTS-STARTPTS"
        coder = f"log-level=error:aud=1:repeat-headers=1:bframes=0:keyint={gop}:min-keyint={gop}:scenecut=0:open-gop=0"
        subprocess.run([*media.FFMPEG, "-i", self.master, "-map", "0:v", "-vf", frames, "-c:v", "libx265", "-preset",
                        "superfast", "-crf", "18", "-x265-params", coder, "-pix_fmt", "yuv420p", path], check=True)
        return ts.access_units(path.read_bytes())

    def mux(self, paths: list[Path], into: Path, *tracks: str) -> Path:
        """A file of tracks of several, as they are: `0:v` is the video of the first."""
        inputs = [word for path in paths for word in ("-i", path)]
        maps = [word for track in tracks for word in ("-map", track)]
        subprocess.run([*media.FFMPEG, *inputs, *maps, "-c", "copy", into], check=True)
        return into

    def plain(self, **coding: object) -> list[Unit]:
        """A usual stream: metadata, where its form has them, and a clip."""
        exact = Coding(**{"frames": self.frames, **coding})  # type: ignore[arg-type]
        return [described(exact), *self.clip(exact).units]

    def parted(self, parts: list[Coding]) -> list[Unit]:
        """Clips of video, one after the other, with audio that continues through all of them."""
        whole = replace(parts[0], frames=sum(part.frames for part in parts))
        video = [unit for part in parts for unit in only(self.clip(part).units, "video")]
        units = sorted([*video, *only(self.clip(whole).units, "audio")],
                       key=lambda unit: (unit.due, unit.kind == "audio"))
        return [described(parts[0]), *units]

    def joined(self, first: Coding, second: Coding) -> list[Unit]:
        """Two clips, one after the other, with the times of one stream."""
        before, behind = [described(first), *self.clip(first).units], self.clip(second).units
        # The last packets of an encoder of audio are beyond the end of its clip.
        begin = next(unit.time for unit in behind if unit.kind == "audio") - 512 / first.samples
        return [unit for unit in before if unit.kind != "audio" or unit.time < begin] + behind


def metadata_of(coding: Coding, **values: float) -> dict[str, float]:
    width, height = coding.size
    return {"width": float(width), "height": float(height), "framerate": float(coding.rate), "videocodecid": 7.0,
            "audiocodecid": 10.0, "audiosamplerate": float(coding.samples), **values}


def described(coding: Coding) -> Unit:
    """The metadata of a coding."""
    return Unit("data", coding.begin / RATE, flv.metadata(metadata_of(coding)), due=coding.begin / RATE)


def by_due(units: Iterable[Unit]) -> list[Unit]:
    return sorted(units, key=lambda unit: unit.due)


def after(units: list[Unit], due: float) -> list[Unit]:
    return [unit for unit in units if unit.due >= due]


def only(units: list[Unit], kind: str) -> list[Unit]:
    return [unit for unit in units if unit.kind == kind]
