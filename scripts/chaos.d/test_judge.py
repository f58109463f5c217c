# SPDX-License-Identifier: Apache-2.0
"""Whether the judge sees what it is there to see: `python3 -m unittest` in this directory."""
from __future__ import annotations

import unittest
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import amf
import frames
import judge
import report
import rows
import verdict
from frames import Frame
from rtmp_stream import Stream
from ts_sink import Demuxer

KEY, REFERENCE, OTHER = b"\x65", b"\x41", b"\x01"


def program(count: int, group: int = 60) -> list[Frame]:
    """Frames of a gapless program; every third is one that no other refers to."""
    return [Frame(100.01 + index * judge.FRAME, 1, index * judge.FRAME, index % group == 0, index % 3 != 2, f"{index}")
            for index in range(count)]


def tag(unit: bytes, text: bytes) -> bytes:
    nal = unit + text
    return b"\x17\x01\0\0\0" + len(nal).to_bytes(4, "big") + nal


class FramesTests(unittest.TestCase):
    def test_same_frame_in_both_forms(self) -> None:
        nal = KEY + b"frame"
        one = frames.from_video_tag(b"\x17\x01\0\0\0" + len(nal).to_bytes(4, "big") + nal, 0, 0, 0)
        two = frames.from_units(frames.start_coded(b"\0\0\0\1\x09\xf0\0\0\0\1\x67sps\0\0\1" + nal), 0, 0, 0)
        other = frames.from_video_tag(tag(KEY, b"another"), 0, 0, 0)
        self.assertEqual(one and one.identity, two and two.identity)
        self.assertTrue(one and one.is_key and one.is_reference)
        self.assertNotEqual(one and one.identity, other and other.identity)

    def test_reference(self) -> None:
        for unit, expected in ((REFERENCE, True), (OTHER, False)):
            frame = frames.from_video_tag(tag(unit, b"x"), 0, 0, 0)
            self.assertEqual(frame and frame.is_reference, expected)


class ProgramTests(unittest.TestCase):
    def test_nothing_is_missing(self) -> None:
        whole = program(90)
        later = [replace(frame, decode_time=frame.decode_time + 7) for frame in whole]
        found = judge.Program([whole, later])
        for output in (whole, later):
            self.assertEqual(found.missing(output), {"frames": 90, "missing": 0, "late": 0, "repeated": 0})

    def test_missing_late_and_repeated(self) -> None:
        whole = program(90)
        found = judge.Program([whole])
        self.assertEqual(found.missing(whole[:40] + whole[43:])["missing"], 3)
        self.assertEqual(found.missing(whole[:80])["missing"], 10)
        self.assertEqual(found.missing(whole[5:])["late"], 5)
        self.assertEqual(found.missing(whole + whole[-2:])["repeated"], 2)
        self.assertEqual(found.missing([])["missing"], 90)

    def test_missing_everywhere(self) -> None:
        whole = program(90)
        output = whole[:30] + whole[32:]
        self.assertEqual(judge.Program([output, output]).missing(output)["missing"], 2)

    def test_unreadable(self) -> None:
        whole = program(90)
        found = judge.Program([whole])
        self.assertEqual(found.unreadable(whole), 0)
        self.assertEqual(found.unreadable(whole[:2] + whole[3:]), 0)  # nobody needs number 2
        self.assertEqual(found.unreadable(whole[:3] + whole[4:]), 1)
        self.assertEqual(found.unreadable(whole[:20] + whole[60:]), 0)
        self.assertEqual(found.unreadable(whole[1:]), 1)

    def test_a_frame_that_is_not_of_the_program(self) -> None:
        whole = program(90)
        found = judge.Program([whole])
        strange = replace(whole[5], identity="strange")
        self.assertEqual(found.unreadable(whole[:5] + [strange] + whole[5:]), 1)
        self.assertEqual(found.unreadable(whole[:5] + [strange]), 0)  # a part of it, before a cut
        again = [replace(frame, connection=2) for frame in whole[60:]]
        self.assertEqual(found.unreadable(whole[:5] + [strange] + again), 0)

    def test_audio(self) -> None:
        frames = program(90)
        audio = [number * judge.AUDIO for number in range(140)]
        self.assertEqual(judge.audio_missing(frames, {1: audio}), 0)
        self.assertEqual(judge.audio_missing(frames, {1: [round(time, 3) for time in audio]}), 0)
        self.assertEqual(judge.audio_missing(frames, {1: audio[:50] + audio[53:]}), 3)
        self.assertEqual(judge.audio_missing(frames, {1: audio[:-40]}), 40)
        self.assertEqual(judge.audio_missing(frames, {1: audio[40:]}), 40)
        self.assertEqual(judge.audio_missing(frames, {}), 139)

    def test_each_window_of_the_fault(self) -> None:
        whole = program(450)
        self.assertEqual(judge.fewest(whole, 100, 114), 150)
        self.assertEqual(judge.fewest(whole[:150] + whole[320:], 100, 114), 0)

    def test_gap(self) -> None:
        whole = program(90)
        gap, at = judge.largest_gap(whole[:30] + whole[40:], 100, 103)
        self.assertAlmostEqual(gap, 11 * judge.FRAME, places=6)
        self.assertAlmostEqual(at, whole[40].arrived)
        self.assertAlmostEqual(judge.largest_gap(whole, 100, 110)[0], 110 - whole[-1].arrived)

    def test_slip(self) -> None:
        whole = program(90)
        self.assertAlmostEqual(judge.slip(whole), 0)
        self.assertAlmostEqual(judge.slip([replace(frame, decode_time=frame.decode_time / 2) for frame in whole]),
                               89 * judge.FRAME / 2)

    def test_forced_keyframes(self) -> None:
        for keys, expected in (
                ([0, 60, 120, 180], 0), ([0, 60, 70, 130, 190], 1), ([0, 60, 70, 130, 140, 200], 1),
                ([0, 60, 70, 100, 160], 2), ([0, 60, 120, 180, 240, 250, 300, 360], 1), ([0, 50, 110, 120, 180], 1)):
            whole = [replace(frame, is_key=index in keys) for index, frame in enumerate(program(400))]
            self.assertEqual(judge.forced_keyframes(judge.Program([whole]), whole, 0), expected, keys)


class WireTests(unittest.TestCase):
    def test_chunks(self) -> None:
        seen: list[tuple[float, bytes]] = []
        heard: list[tuple[float, bytes]] = []
        stream = Stream("ok", lambda data: None, lambda time, body: seen.append((time, body)),
                        lambda time, body: heard.append((time, body)))
        stream.feed(b"\x03" + bytes(1536))
        stream.feed(bytes(1536))
        first = tag(KEY, b"a" * 300)
        data = amf.message(6, 9, 1, first)
        for at in range(0, len(data), 7):
            self.assertTrue(at == 0 or stream.in_message())
            stream.feed(data[at:at + 7])
        second = tag(REFERENCE, b"b")
        stream.feed(b"\x46\0\0\x21" + len(second).to_bytes(3, "big") + b"\x09" + second)
        stream.feed(b"\x06\xff\xff\xff" + len(second).to_bytes(3, "big") + b"\x09\x01\0\0\0\x01\0\0\0" + second)
        self.assertEqual(seen, [(0.0, first), (0.033, second), (16777.216, second)])
        stream.feed(amf.message(4, 8, 1, b"\xaf\x01audio"))
        self.assertEqual(heard, [(0.0, b"\xaf\x01audio")])
        self.assertFalse(stream.in_message())

    def test_continuity(self) -> None:
        packet = bytes([0x47, 0x01, 0x00])
        demuxer = Demuxer()
        for counter in (0, 1, 1, 2, 4, 5):
            list(demuxer.packet(packet + bytes([0x10 | counter]) + bytes(184), 0))
        self.assertEqual(demuxer.errors, 1)

    def test_audio_of_a_transport_stream(self) -> None:
        packet = bytes.fromhex("fff14c80") + bytes([(7 + 3) >> 3, ((7 + 3) & 7) << 5 | 31, 0xFC]) + b"aac"
        demuxer = Demuxer()
        demuxer.audio_pes += b"\0\0\1\xc0\0\0\x80\x80\5" + bytes([0x21, 0, 5, 0xBF, 0x21]) + packet * 3
        demuxer.finish_audio()
        self.assertEqual(len(demuxer.audio), 3)
        self.assertAlmostEqual(demuxer.audio[2] - demuxer.audio[0], 2 * 1024 / 48000)


class VerdictTests(unittest.TestCase):
    def result(self, **changes) -> dict:
        output = {"frames": 90, "missing": 0, "late": 0, "repeated": 0, "audio": 0}
        result = {
            "outputs": {"rtmp": output, "recording": output}, "unreadable": 0, "continuity": 0, "forced": 1,
            "slip": 0.0, "bit": True,
            "gaps": {"rtmp": {"gap": 0.04, "machine": 0.0}}, "words": {"says": "handshake: no answer", "detected": 3.0},
            "end": {"died": None, "status": 0, "shutdown": 0.3, "on_air": True},
            "victim": {"key": True, "unreadable": 0, "continuity": 0, "back": 1.0, "lag": 1.0,
                       "missing": 0, "window": 20, "connections": 2},
            "resources": {"rss": [0, 0, 0], "threads": [9, 9, 9], "descriptors": [9, 9, 9], "grown": 0}}
        return {**result, **changes}

    def test_each_bound_can_break(self) -> None:
        row = rows.BY_NAME["silent"]
        worse = SimpleNamespace(**self.result())
        for short in (False, True):
            self.assertEqual(verdict.counts(row, self.result(), short) + verdict.times(row, self.result(), short), [])
        for changes in ({"outputs": {"rtmp": {**worse.outputs["rtmp"], "missing": 1}}}, {"unreadable": 1},
                        {"forced": 2}, {"end": {**worse.end, "status": 1}}, {"words": {"says": "", "detected": 1.0}},
                        {"victim": {**worse.victim, "key": False}}, {"victim": {**worse.victim, "unreadable": 1}},
                        {"resources": {**worse.resources, "descriptors": [9, 13, 13]}},
                        {"resources": {**worse.resources, "threads": [9, 9, 30]}}, {"resources": {}}, {"bit": False},
                        {"outputs": {"rtmp": {**worse.outputs["rtmp"], "audio": 1}}},
                        {"end": {**worse.end, "on_air": False}}, {"end": {**worse.end, "shutdown": None}},
                        {"victim": {**worse.victim, "back": None}}):
            for short in (False, True):
                self.assertEqual(len(verdict.counts(row, self.result(**changes), short)), 1, changes)
                self.assertEqual(len(verdict.faults(row, self.result(**changes), short)), 1, changes)
        for changes in ({"gaps": {"rtmp": {"gap": 0.06, "machine": 0.0}}}, {"slip": 0.3},
                        {"end": {**worse.end, "shutdown": 4.0}}):
            self.assertEqual(len(verdict.times(row, self.result(**changes), False)), 1, changes)
        for name, changes in (("bandwidth", {"window": 0}), ("bandwidth", {"lag": 5.5}), ("kill", {"back": 2.5})):
            self.assertEqual(verdict.delays(rows.BY_NAME[name], worse.victim, False), [])
            self.assertEqual(len(verdict.delays(rows.BY_NAME[name], {**worse.victim, **changes}, False)), 1, changes)
        for name, changes in (("loss", {"missing": 1}), ("close", {"connections": 1}), ("flap", {"connections": 1})):
            row, well = rows.BY_NAME[name], self.result(victim={**worse.victim, "unreadable": 0})
            self.assertEqual(verdict.of_victim(row, well["victim"]), [])
            self.assertEqual(len(verdict.of_victim(row, {**worse.victim, **changes})), 1, changes)

    def entry(self, short: bool = False, contestant: str = "relay", **changes) -> report.Entry:
        return report.Entry(rows.BY_NAME["silent"], contestant, self.result(**changes), short)

    def test_a_gap_above_the_bound_never_holds(self) -> None:
        self.assertEqual(self.entry().outcome, "holds")
        busy = {"rtmp": {"gap": 0.08, "machine": 0.03}}
        self.assertFalse(self.entry(gaps=busy).holds)
        self.assertFalse(self.entry(gaps=busy).broken)
        self.assertIn("not shown", self.entry(gaps=busy).outcome)
        self.assertTrue(self.entry(gaps={"rtmp": {"gap": 0.08, "machine": 0.0}}).broken)

    def test_the_short_version_tells_a_delay_and_does_not_judge_it(self) -> None:
        well = SimpleNamespace(**self.result())
        for changes in ({"gaps": {"rtmp": {"gap": 0.6, "machine": 0.0}}}, {"gaps": {"rtmp": {"gap": 9, "machine": 5}}},
                        {"slip": 6.1}, {"end": {**well.end, "shutdown": 30.0}}):
            entry = self.entry(True, **changes)
            self.assertEqual((entry.broken, entry.holds, len(entry.late)), ([], True, 1), changes)
            self.assertIn("holds (not judged: ", entry.outcome)
            self.assertTrue(self.entry(False, **changes).broken, changes)
        for name, changes in (("kill", {"back": 50.0}), ("bandwidth", {"lag": 20.0}), ("bandwidth", {"window": 0})):
            result = self.result(victim={**well.victim, **changes})
            self.assertEqual(verdict.faults(rows.BY_NAME[name], result, True), [], changes)
            self.assertEqual(len(verdict.faults(rows.BY_NAME[name], result, False)), 1, changes)
        late = self.result(words={**well.words, "detected": 60.0})
        self.assertEqual(verdict.faults(rows.BY_NAME["black-hole"], late, True), [])
        self.assertEqual(verdict.faults(rows.BY_NAME["black-hole"], late, False), ["not detected in time"])
        quick = self.entry(True, gaps={"rtmp": {"gap": 0.4, "machine": 0.0}})
        self.assertEqual((quick.outcome, quick.late), ("holds", []))

    def test_what_is_lost_breaks_the_short_version_however_busy_the_machine_was(self) -> None:
        busy = {"rtmp": {"gap": 0.6, "machine": 0.6}}
        entry = self.entry(True, gaps=busy, unreadable=1)
        self.assertEqual(entry.broken, ["healthy outputs: 1 unreadable"])
        self.assertFalse(entry.holds)

    def test_only_an_excused_gap_is_played_again(self) -> None:
        row, busy = rows.BY_NAME["silent"], {"rtmp": {"gap": 0.08, "machine": 0.03}}
        self.assertTrue(verdict.may_replay(row, self.result(gaps=busy), False))
        self.assertFalse(verdict.may_replay(row, self.result(), False))
        self.assertFalse(verdict.may_replay(row, self.result(gaps=busy, unreadable=1), False))
        self.assertFalse(verdict.may_replay(row, self.result(gaps=busy, slip=0.3), False))
        self.assertFalse(verdict.may_replay(row, {"failed": "OSError"}, False))
        self.assertEqual(self.entry(tries=2).outcome, "holds (try 2)")

    def test_a_run_that_failed_is_broken(self) -> None:
        for contestant in ("relay", "ffmpeg"):
            for result, broken in (({"failed": "OSError: no"}, True), ({"not_run": "no iptables here"}, False)):
                entry = report.Entry(rows.BY_NAME["silent"], contestant, result, False)
                self.assertEqual(bool(entry.broken), broken)
                self.assertFalse(entry.holds)
                self.assertEqual(len(entry.cells()), len(report.HEADER))
        self.assertEqual(len(self.entry().cells()), len(report.HEADER))
        self.assertEqual(len(self.entry(resources={}).cells()), len(report.HEADER))

    def test_versions_of_what_was_played(self) -> None:
        text = report.machine(Path("/bin/true"), [self.entry()])
        self.assertIn("relay", text)
        self.assertNotIn("FFmpeg", text)
        self.assertNotIn("GStreamer", text)

    def test_a_busy_machine(self) -> None:
        self.assertTrue(verdict.is_machines({"gap": 0.08, "machine": 0.03}))
        self.assertFalse(verdict.is_machines({"gap": 0.28, "machine": 0.05}))
        self.assertFalse(verdict.is_machines({"gap": 2.5, "machine": 2.5}))


if __name__ == "__main__":
    unittest.main()
