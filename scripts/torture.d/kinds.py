# SPDX-License-Identifier: Apache-2.0
"""The kinds of streams: each makes what is sent from random numbers, and says what must come of it."""
from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import files
import flv
import networks
import stamps
import ts
from media import RATE, Coding, Unit
from stream import LIVE, OWN, PACKED, PACKETS, Sent, Session, Shape, Studio, after, by_due, described, metadata_of, only

Make = Callable[[Studio], Sent]
AWAY = 3.0
"""Seconds until relay takes a sender again, beside the time until it sends a keyframe."""
JOINT = 8 * RATE
"""The frame from which on a stream is coded in another way."""


@dataclass(frozen=True)
class Kind:
    """One kind of stream, and who can carry it."""

    name: str
    title: str
    make: Make
    transports: tuple[str, ...]
    short: str = ""
    """The transport and use by which the short version plays it: `rtmp/alone`."""
    form: str = ""
    """flv or ts where a file or an answer of HTTP could be either, and only one can be this."""


def simple(told: str, units: list[Unit], **more: object) -> Sent:
    return Sent(told, [Session(units)], **more)  # type: ignore[arg-type]


def plain(studio: Studio) -> Sent:
    return simple("nothing is wrong", studio.plain())


def begins(studio: Studio) -> Sent:
    gop = studio.pick(1, 4)
    units = studio.plain(gop=gop, frames=studio.frames + round(gop * RATE))
    first = studio.rng.randrange(1, round(gop * RATE))
    packet = studio.rng.randrange(1, 7)
    left = [units[0], *(unit for unit in units if unit.due >= first / RATE)]
    key = next(unit for unit in left if unit.key)
    return Sent(f"begins with frame {first} of a GOP of {gop} s, in a transport stream at its packet {packet}",
                [Session(stamps.moved(left, -first / RATE), packets=lambda all: ts.begin_at(all, packet))],
                begins=key.due - first / RATE)


def gop(studio: Studio) -> Sent:
    seconds = studio.pick(0.2, 3 if studio.short else 20)
    frames = max(studio.frames, round((seconds + 4) * RATE))
    return simple(f"a GOP of {seconds} s", studio.plain(gop=seconds, frames=frames))


def metadata(studio: Studio) -> Sent:
    coding = Coding(frames=studio.frames)
    units = studio.clip(coding).units
    how = studio.rng.choice(["none", "late", "rate", "size", "no-audio"])
    wrong = {"rate": {"framerate": 60.0}, "size": {"width": 1920.0, "height": 1080.0}, "no-audio": {}}.get(how, {})
    values = metadata_of(coding, **wrong)
    if how == "no-audio":
        values = {name: value for name, value in values.items() if not name.startswith("audio")}
    due = 2.0 if how == "late" else 0.0
    if how != "none":
        units = by_due([Unit("data", due, flv.metadata(values), due=due), *units])
    return simple(f"metadata: {how}", units)


def audio_first(studio: Studio) -> Sent:
    seconds = studio.pick(0.5, 3)
    units = studio.plain()
    key = next(unit for unit in units if unit.key and unit.due >= seconds)
    units = [unit for unit in units if unit.kind != "video" or unit.due >= key.due]
    return simple(f"audio alone for {key.due:.1f} s", units, begins=key.due)


def late_audio(studio: Studio) -> Sent:
    seconds = studio.pick(1, 5)
    units = stamps.without(studio.plain(), "audio", 0, seconds)
    return simple(f"audio comes after {seconds} s", units, disturbed=[(0.0, seconds)], bound=1.0)


def audio_goes(studio: Studio) -> Sent:
    begin, length = studio.at, studio.pick(0.3, 2 if studio.short else 6)
    units = stamps.without(studio.plain(frames=studio.frames + round(length * RATE)), "audio", begin, begin + length)
    return simple(f"no audio for {length} s", units, disturbed=[(begin, begin + length)], bound=1.0)


def video_goes(studio: Studio) -> Sent:
    begin, length = studio.at, studio.pick(0.3, 2 if studio.short else 6)
    units = stamps.without(studio.plain(frames=studio.frames + round(length * RATE)), "video", begin, begin + length)
    return simple(f"no video for {length} s", units, disturbed=[(begin - studio.held, begin + length)], bound=1.0)


def audio_lags(studio: Studio) -> Sent:
    seconds = studio.pick(0.1, 0.9)
    return simple(f"audio is sent {seconds} s behind its video", stamps.late(studio.plain(), "audio", seconds),
                  disturbed=[(0.0, 2 * seconds)], bound=1.0)


def two_codings(studio: Studio, told: str, second: dict, bframes: int = 2, **more: object) -> Sent:
    """A stream that changes its coding at a keyframe in the middle."""
    # After 8 s a packet of audio of 48 kHz ends with a frame, so that the second coding begins without a step.
    half = JOINT
    first = Coding(frames=half, bframes=bframes)
    units = studio.joined(first, replace(first, begin=half, frames=6 * RATE, **second))
    if studio.transport == "file":
        more["says"] = ""  # what a file's own making brings is no news
    return simple(f"after {half // RATE} s {told}", units, disturbed=[(half / RATE, half / RATE)], **more)


def audio_changes(studio: Studio) -> Sent:
    samples, channels = studio.rng.choice([(44_100, 1), (44_100, 2), (48_000, 1), (32_000, 2)])
    return two_codings(studio, f"audio of {samples} Hz in {channels} channels",
                       {"samples": samples, "channels": channels}, says="(coded|audio|chang)")


def size_changes(studio: Studio) -> Sent:
    size = studio.rng.choice([(640, 360), (480, 270), (256, 144), (1280, 720)])
    return two_codings(studio, f"video of {size[0]}x{size[1]}", {"size": size}, later=Shape(size),
                       says="(coded|video|chang|size)")


def aspect_changes(studio: Studio) -> Sent:
    return two_codings(studio, "pixels twice as wide", {"aspect": "2"}, later=Shape(aspect="2:1"),
                       regions=[(0.0, 0.0, 1.0, 1.0), (0.0, 0.25, 1.0, 0.5)],
                       moves=[(JOINT, 1)])


def rate_changes(studio: Studio) -> Sent:
    # Reordered, frames of the second coding would be less late behind their decoding, and both codings overlap. A program
    # of 25 may show the second frame of a number where the first one of the next is due, which looks like 40 ms.
    return two_codings(studio, "50 frames a second", {"rate": 2 * RATE}, 0, doubled=True, av=False)


def codec_changes(studio: Studio) -> Sent:
    first = Coding(frames=JOINT, bframes=0)
    second = replace(first, begin=JOINT, frames=6 * RATE)
    at, frames = JOINT / RATE, iter(studio.hevc(second))
    units = [replace(unit, body=next(frames), tag=ts.HEVC) if unit.kind == "video" and unit.number >= JOINT else unit
             for unit in studio.joined(first, second)]
    return Sent(f"after {at:.0f} s video of HEVC on the same PID",
                [Session(units, changes=((at, ts.Program(version=1, coding=ts.HEVC)),))], disturbed=[(at, at)],
                says="" if studio.transport == "file" else "(coded|video|chang|program map)")


def changes_twice(studio: Studio) -> Sent:
    # Shorter than a buffer, or a little longer.
    frames = studio.rng.choice([4, 8, 25])
    first = Coding(frames=JOINT, bframes=0)
    second = replace(first, begin=JOINT, frames=frames)
    third = replace(first, begin=JOINT + frames, frames=6 * RATE)
    at, until, coded = JOINT / RATE, (JOINT + frames) / RATE, iter(studio.hevc(second))
    units = [replace(unit, body=next(coded), tag=ts.HEVC) if JOINT <= unit.number < third.begin else unit
             for unit in studio.parted([first, second, third])]
    changes = ((at, ts.Program(version=1, coding=ts.HEVC)), (until, ts.Program(version=2)))
    return Sent(f"after {at:.0f} s {frames} frames of HEVC on the same PID, and AVC again",
                [Session(units, changes=changes)], disturbed=[(at, until)],
                says="" if studio.transport == "file" else "(coded|video|chang|program map)")


def fails_between(studio: Studio) -> Sent:
    away = studio.pick(0.3, 3)
    width, height = studio.rng.choice([(640, 360), (480, 270), (256, 144)])
    first = Coding(frames=JOINT, bframes=0)
    # A playlist has what was sent meanwhile. Other senders have lost it.
    lost = 0 if studio.transport == "hls" else round(away * RATE)
    second = replace(first, begin=JOINT + lost, frames=8 * RATE, size=(width, height))
    at, until = JOINT / RATE, JOINT / RATE + away
    told = f"after {at:.0f} s video of {width}x{height}, and the server fails there for {away} s"
    if studio.transport == "hls":
        sessions = [Session(studio.joined(first, second), codings=((0.0, first), (at, second)), fails=away)]
        until += 1.0  # by when the first segment of the second coding is there
    else:
        begun = [described(second), *studio.clip(second).units]
        sessions = [Session([described(first), *studio.clip(first).units], abrupt=True),
                    Session([replace(unit, time=unit.time - begun[0].time) for unit in begun])]
    return Sent(told, sessions, disturbed=[(at, until)], later=Shape((width, height)), bound=AWAY,
                says="(coded|video|chang|size|input|source|publisher|caller)")


def off(studio: Studio, first: float, last: float) -> Sent:
    kind = studio.rng.choice(["video", "audio"])
    by, begin = studio.pick(0.1, 10) * studio.rng.choice([1, -1]), studio.pick(first, last)
    units = stamps.outlier(studio.plain(), kind, begin, by)
    return simple(f"one stamp of {kind} is off by {by} s after {begin} s", units, disturbed=[(begin, begin + 0.1)])


def outlier(studio: Studio) -> Sent:
    return off(studio, 1, 5)


def early_outlier(studio: Studio) -> Sent:
    return off(studio, 0.1, 0.9)


def jump(studio: Studio) -> Sent:
    by = studio.pick(0.5, 40_000) * studio.rng.choice([1, -1])
    units = [replace(unit, time=unit.time + 50_000) for unit in studio.plain()]
    return simple(f"all stamps jump by {by} s after {studio.at:.0f} s", stamps.jump(units, studio.at, by),
                  disturbed=[(studio.at, studio.at)], bound=1.0)


def wrap(studio: Studio) -> Sent:
    at = studio.rng.choice([4.0, 0.5])
    # RTMP counts milliseconds in 32 bits, a transport stream 1/90000 s in 33.
    base = (2**32 / 1000 if studio.form == "flv" else 2**33 / 90000 - ts.LEAD) - at
    return simple(f"stamps wrap after {at} s", [replace(unit, time=unit.time + base) for unit in studio.plain()])


def repeated(studio: Studio) -> Sent:
    kind, count = studio.rng.choice(["video", "audio"]), studio.rng.randrange(1, 6)
    units = stamps.repeated(studio.plain(bframes=0), kind, studio.at, count)
    return simple(f"{count} stamps of {kind} are repeated", units,
                  disturbed=[(studio.at, studio.at + (count + 1) / RATE)])


def unstamped(studio: Studio) -> Sent:
    length = studio.pick(0.2, 3)
    units = stamps.unstamped(studio.plain(bframes=0), "video", studio.at, studio.at + length)
    return simple(f"no stamps of video for {length} s", units, disturbed=[(studio.at, studio.at + length)])


def burst(studio: Studio) -> Sent:
    length = studio.pick(2, 3 if studio.short else 20)
    units = studio.plain(frames=studio.frames + round(length * RATE))
    return simple(f"{length} s are sent at once after a pause", stamps.held(units, studio.at, length),
                  disturbed=[(studio.at, studio.at + length)], bound=1.0,
                  says="(late|behind|stall|buffer|no video|ran dry|moved)")


def outage(studio: Studio) -> Sent:
    length = studio.pick(0.2, 4)
    units = studio.plain(frames=studio.frames + round(length * RATE))
    return simple(f"{length} s are lost", stamps.paused(units, studio.at, length),
                  disturbed=[(studio.at - studio.held, studio.at + length)], bound=1.0)


def loss(studio: Studio) -> Sent:
    every, length = studio.rng.randrange(10, 60), studio.pick(0.5, 3)
    return Sent(f"each {every}th packet is lost for {length} s",
                [Session(studio.plain(), packets=lambda all: ts.lose(all, studio.at, studio.at + length, every))],
                disturbed=[(studio.at, studio.at + length)])


def damage(studio: Studio) -> Sent:
    every, length = studio.rng.randrange(1, 20), studio.pick(0.5, 3)
    units = stamps.damaged(studio.plain(), studio.at, studio.at + length, every, studio.rng)
    return simple(f"a bit of each {every}th frame or packet of audio is wrong for {length} s", units,
                  disturbed=[(studio.at, studio.at + length)])


def flip(studio: Studio) -> Sent:
    every, length, seed = studio.rng.randrange(10, 60), studio.pick(0.5, 3), studio.rng.random()
    end = studio.at + length
    return Sent(f"a bit of each {every}th packet is wrong for {length} s",
                [Session(studio.plain(), packets=lambda all: ts.flip(all, studio.at, end, every, random.Random(seed)))],
                disturbed=[(studio.at, end)])


def rate(studio: Studio) -> Sent:
    kilobits = round(studio.pick(300, 8_000 if studio.short else 60_000))
    return simple(f"{kilobits} kbit/s", studio.plain(kilobits=kilobits))


SIZES = [(16, 16), (32, 16), (64, 36), (160, 90), (1920, 1080), (3840, 2160), (8192, 4352)]


def size(studio: Studio) -> Sent:
    width, height = studio.rng.choice(SIZES[:4] if studio.short else SIZES)
    large = width > 2000
    coding = Coding(frames=(4 if large else 6) * RATE, size=(width, height), rate=5 if large else RATE, bframes=0)
    units = [described(coding), *studio.clip(coding).units]
    return simple(f"{width}x{height}", units, shape=Shape((width, height), rate=coding.rate), av=not large,
                  numbered=width >= 320 and not large, bound=4.0 if large else 0.0)


def no_audio(studio: Studio) -> Sent:
    coding = Coding(frames=studio.frames)
    units = [described(coding), *only(studio.clip(coding).units, "video")]
    return simple("metadata promises audio, and none comes", units, audible=False, av=False, bound=2.0)


def header(studio: Studio) -> Sent:
    units = studio.plain()
    head = [replace(unit, body=b"") for unit in (only(units, "video")[0], only(units, "audio")[0])]
    return Sent("a sender that leaves after its headers, and comes back after 1 s",
                [Session([units[0], *(replace(unit, due=0.0) for unit in head)], abrupt=True),
                 Session(stamps.moved(units, 1.0))],
                begins=1.0, bound=AWAY)


def leaves(studio: Studio) -> Sent:
    seconds, away = studio.pick(0.3, 4), studio.pick(0.2, 3)
    units = studio.plain()
    second = [unit for unit in units if unit.due >= seconds + away]
    key = next(unit for unit in second if unit.key)
    first = [unit for unit in units if unit.due < seconds]
    return Sent(f"a sender that leaves after {seconds} s for {away} s, and begins again at 0",
                [Session(first, abrupt=studio.rng.random() < 0.5),
                 Session([replace(unit, time=max(0.0, unit.time - key.time))
                          for unit in [replace(units[0], due=key.due), *after(second, key.due)]])],
                disturbed=[(seconds, key.due)], bound=AWAY, says="(input|source|publisher|caller|sender|closed|opened)")


def twice(studio: Studio) -> Sent:
    units = studio.plain()
    intruder = stamps.moved([unit for unit in units if unit.due < 2], 4.0)
    return Sent("a second sender comes while the first one sends", [Session(units), Session(intruder, intrudes=True)],
                says="(refus|second|already|another|turned away|sent away|busy)")


def negative(studio: Studio) -> Sent:
    by = studio.rng.randrange(1, 4) / RATE
    return simple(f"composition offsets as low as -{by} s", stamps.negative(studio.plain(bframes=0), by))


def lengths(studio: Studio) -> Sent:
    return simple("NAL units with lengths of 2 bytes", stamps.short_lengths(studio.plain()))


def pids(studio: Studio) -> Sent:
    how = studio.rng.choice(["swap", "move"])
    program = ts.Program(ts.AUDIO, ts.VIDEO, 1) if how == "swap" else ts.Program(0x200, 0x201, 1)
    at = studio.at + 1
    return Sent(f"a new program map after {at:.0f} s: {how}", [Session(studio.plain(), changes=((at, program),))],
                disturbed=[(at, at)], says="(stream that was not there|coded|program map|chang)")


def commands(studio: Studio) -> Sent:
    words = studio.rng.choice([("deleteStream", 0.0, None, 7.0), ("FCUnpublish", 0.0, None, "another"),
                               ("closeStream", 0.0, None)])
    stream = 5 if words[0] == "closeStream" else 0
    return Sent(f"{words[0]} of another stream after {studio.at:.0f} s",
                [Session(studio.plain(), commands=((studio.at, (stream, *words)),))])


def unknown_codec(studio: Studio) -> Sent:
    units = [replace(unit, tag=9, config=b"") if unit.kind == "audio" else unit for unit in studio.plain()]
    return simple("audio in a codec that does not exist", units, audible=False, av=False, bound=2.0, says="audio|codec")


def restart(studio: Studio) -> Sent:
    sent = leaves(studio)
    return replace(sent, told=f"{sent.told}; the playlist counts from 0 again", restarts=True, bound=6.0, says="")


def maps(studio: Studio) -> Sent:
    width, height = studio.rng.choice([(640, 360), (480, 270), (256, 144)])
    sent = two_codings(studio, f"another initialization section: video of {width}x{height}", {"size": (width, height)},
                       later=Shape((width, height)), says="(coded|video|chang|size)")
    sent.sessions[0].codings = ((0.0, Coding()), (JOINT / RATE, Coding(size=(width, height))))
    return sent


def maps_twice(studio: Studio) -> Sent:
    # Segments last a second at least, and relay buffers three of them.
    between = studio.rng.choice([1, 2]) * RATE
    sizes = studio.rng.sample([(640, 360), (480, 270), (256, 144)], 2)
    first = Coding(frames=JOINT)
    second = Coding(begin=JOINT, frames=between, size=sizes[0])
    third = Coding(begin=JOINT + between, frames=8 * RATE, size=sizes[1])
    at, until = JOINT / RATE, third.begin / RATE
    session = Session(studio.parted([first, second, third]), codings=((0.0, first), (at, second), (until, third)))
    return Sent(f"other initialization sections for {between // RATE} s, and again", [session],
                disturbed=[(at, until)], later=Shape(sizes[1]), says="(coded|video|chang|size)")


ALL = [
    Kind("plain", "a stream as it should be", plain, (*LIVE, "file"), "rtmp/one-of-two"),
    Kind("begins", "begins at any packet", begins, OWN, "udp/alone"),
    Kind("gop", "GOPs of 0.2 to 20 s", gop, (*LIVE, "file"), "srt/alone"),
    Kind("metadata", "no, late or wrong metadata", metadata, ("rtmp", "http"), "rtmp/copy", form="flv"),
    Kind("audio-first", "audio first", audio_first, (*OWN, "hls")),
    Kind("late-audio", "audio comes late", late_audio, (*OWN, "hls")),
    Kind("audio-goes", "audio goes and comes", audio_goes, (*LIVE, "file"), "udp/backup"),
    Kind("video-goes", "video goes and comes, and audio stays", video_goes, LIVE),
    Kind("audio-lags", "audio behind its video in the multiplex", audio_lags, (*OWN, "hls")),
    Kind("audio-changes", "audio changes rate and channels", audio_changes, (*OWN, "hls", "file"), "rtmp/alone"),
    Kind("size-changes", "video changes size", size_changes, (*OWN, "hls", "file"), "udp/copy"),
    Kind("aspect-changes", "pixels change shape", aspect_changes, (*OWN, "hls", "file")),
    Kind("rate-changes", "video changes its frame rate", rate_changes, (*OWN, "hls", "file")),
    Kind("codec-changes", "video changes its codec on the same PID", codec_changes, (*PACKED, "file"), form="ts"),
    Kind("changes-twice", "video changes its codec twice in a buffer", changes_twice, (*PACKETS, "file"), form="ts"),
    Kind("fails-between", "a sender that fails where its coding changes", fails_between, ("rtmp", "srt", "udp", "hls")),
    Kind("outlier", "one stamp is off by 0.1 to 10 s", outlier, (*OWN, "hls", "file")),
    Kind("early-outlier", "one stamp of the first second is off", early_outlier, (*OWN, "file")),
    Kind("jump", "all stamps jump", jump, (*OWN, "hls", "file"), "srt/alone"),
    Kind("wrap", "stamps wrap", wrap, (*OWN, "hls"), "rtmp/alone"),
    Kind("repeated", "stamps are repeated", repeated, (*OWN, "hls", "file")),
    Kind("unstamped", "frames without stamps", unstamped, PACKED, form="ts"),
    Kind("burst", "a pause of 2 to 20 s, and all at once", burst, LIVE, "rtmp/record-sources"),
    Kind("outage", "0.2 to 4 s are lost", outage, LIVE, "udp/alone"),
    Kind("loss", "packets are lost", loss, PACKED, "udp/copy-video", form="ts"),
    Kind("damage", "bits of frames are wrong", damage, (*LIVE, "file")),
    Kind("flip", "bits of packets are wrong", flip, PACKED, form="ts"),
    Kind("rate", "300 kbit/s to 60 Mbit/s", rate, (*LIVE, "file"), "srt/copy"),
    Kind("size", "16x16 to 8192x4352", size, (*LIVE, "file"), "http/alone"),
    Kind("no-audio", "audio that is promised and does not come", no_audio, ("rtmp", "http"), form="flv"),
    Kind("header", "a sender that leaves after its headers", header, ("rtmp",)),
    Kind("leaves", "a sender that leaves and comes back", leaves, ("rtmp", "srt", "udp"), "rtmp/backup"),
    Kind("twice", "a second sender at once", twice, ("rtmp", "srt"), "rtmp/alone"),
    Kind("negative", "negative composition offsets", negative, ("rtmp", "http"), form="flv"),
    Kind("lengths", "NAL units with lengths of 2 bytes", lengths, ("rtmp", "http", "file"), form="flv"),
    Kind("pids", "a new program map", pids, (*PACKED, "file"), form="ts"),
    Kind("commands", "commands that name another stream", commands, ("rtmp",)),
    Kind("unknown-codec", "a codec that does not exist", unknown_codec, ("rtmp",)),
    Kind("restart", "a playlist that counts from 0 again", restart, ("hls",)),
    Kind("maps", "a playlist of fragmented MP4 that changes its initialization section", maps, ("hls",)),
    Kind("cut", "connections are reset, and none can be made for a while", networks.cut, ("rtmp", *networks.CALLED)),
    Kind("freeze", "nothing passes for 0.1 to 10 s", networks.freeze, networks.LINKED, "srt/alone"),
    Kind("dead", "connections that stay open and fall silent", networks.dead, ("rtmp", *networks.CALLED)),
    Kind("slow", "a server that answers slowly", networks.slow, networks.CALLED),
    Kind("starved", "no file descriptor is free", networks.starved, ("rtmp", *networks.CALLED), "rtmp/alone"),
    Kind("two", "two disturbances of different kinds, one after the other", networks.two, LIVE, "rtmp/alone"),
    Kind("guest", "a guest with huge frames, who leaves", networks.guest, ("rtmp", "srt", "udp")),
    Kind("maps-twice", "two other initialization sections within a buffer", maps_twice, ("hls",)),
    Kind("samples", "infinite, undefined and huge samples", files.samples, files.BOTH, "file/alone"),
    Kind("edit-list", "files with edit lists", files.edit_list, files.BOTH, "file/alone"),
    Kind("rotation", "files that lie on their side", files.rotation, files.BOTH),
    Kind("one-frame", "files of one frame", files.one_frame, files.BOTH, "file/alone"),
    Kind("no-end", "files without an end", files.no_end, files.BOTH, "file/alone"),
]
BY_NAME = {kind.name: kind for kind in ALL}
