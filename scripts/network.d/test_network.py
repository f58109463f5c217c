# SPDX-License-Identifier: Apache-2.0
"""Whether box, peers and rules see what they are there to see: `python3 -m unittest`, with scripts/chaos.d and this
directory in PYTHONPATH.
"""
from __future__ import annotations

import struct
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import amf
import box
import cells
import hls_peer
import judge
import measure
import rules
import scorecard
import table
from frames import Frame
from player import PlayerStream

KEYS = 60
CELL = {cell.name: cell for cell in cells.ALL}


def program(count: int) -> list[Frame]:
    """Frames of a gapless program; every third is one that no other refers to."""
    return [Frame(100.01 + index * judge.FRAME, 1, index * judge.FRAME, index % KEYS == 0, index % 3 != 2, f"{index}")
            for index in range(count)]


def packet(protocol: int, ports: tuple[int, int], flags: int = box.ACK, size: int = 100) -> bytes:
    """An IPv4 packet from the first port to the second."""
    inner = struct.pack(">HH", *ports)
    if protocol == box.TCP:
        inner += bytes(8) + bytes([5 << 4, flags]) + bytes(6)
    else:
        inner += bytes(4)
    return (bytes([0x45, 0]) + bytes(7) + bytes([protocol]) + bytes(10) + inner).ljust(size, b"x")


class RulesOfTheBox(unittest.TestCase):
    def setUp(self) -> None:
        self.notes: list[list[str]] = []
        self.rules = box.Rules(1, lambda line: self.notes.append(line.split()))
        self.now = 100.0

    def send(self, data: bytes, direction: int = box.TO_PEER) -> float | None:
        self.now += 0.001
        due = self.rules.due(box.Packet(data, direction), self.now)
        return None if due is None else due - self.now

    def tell(self, line: str) -> None:
        self.rules.told(line, self.now)

    def test_everything_passes_at_once(self) -> None:
        self.assertEqual({self.send(packet(box.UDP, (1, 2))) for _ in range(100)}, {0.0})

    def test_an_outage_and_its_end(self) -> None:
        self.tell("block")
        for direction in (box.TO_PEER, box.TO_RELAY):
            self.assertIsNone(self.send(packet(box.UDP, (1, 2)), direction))
        self.tell("ok")
        self.assertEqual((self.notes[0][0], self.notes[0][2:]), ("did", ["2", "0"]))
        self.assertEqual(self.send(packet(box.TCP, (1, 2), size=40)), 0.0)  # an acknowledgement is no data
        self.assertEqual(len(self.notes), 1)
        for _ in range(2):
            self.send(packet(box.TCP, (1, 2)))
        self.assertEqual([note[0] for note in self.notes], ["did", "flowed"])

    def test_loss_is_of_the_share_and_the_same_for_a_seed(self) -> None:
        self.tell("loss 0.05")
        lost = [self.send(packet(box.UDP, (1, 2))) is None for _ in range(10_000)]
        self.assertTrue(400 < sum(lost) < 600, sum(lost))
        self.setUp()
        self.tell("loss 0.05")
        self.assertEqual(lost, [self.send(packet(box.UDP, (1, 2))) is None for _ in range(10_000)])

    def test_delay_keeps_the_order_and_reordering_does_not(self) -> None:
        self.tell("delay 0.15")
        for way in (box.TO_PEER, box.TO_RELAY):
            self.assertAlmostEqual(self.send(packet(box.UDP, (1, 2)), way) or 0.0, 0.15)
        self.tell("reorder 0.1 0.04")
        delays = [self.send(packet(box.UDP, (1, 2))) or 0.0 for _ in range(1000)]
        self.assertTrue(50 < sum(delay > 0 for delay in delays) < 150)
        self.assertLessEqual(max(delays), 0.0401)

    def test_slow_answers_are_the_peers_alone(self) -> None:
        self.tell("answers 1")
        self.assertEqual(self.send(packet(box.TCP, (1, 2)), box.TO_PEER), 0.0)
        self.assertAlmostEqual(self.send(packet(box.TCP, (2, 1)), box.TO_RELAY) or 0.0, 1.0)

    def test_half_the_rate(self) -> None:
        for _ in range(4000):
            self.send(packet(box.UDP, (1, 2)))
        rate = self.rules.seen(self.now)
        self.assertAlmostEqual(rate, 100_000, delta=1000)
        self.tell("rate 0.5")
        passed = [self.send(packet(box.UDP, (1, 2))) is not None for _ in range(4000)]
        self.assertAlmostEqual(sum(passed), 2000, delta=200)
        self.assertEqual(self.send(packet(box.UDP, (2, 1)), box.TO_RELAY), 0.0)

    def test_connections_are_forgotten_and_new_ones_pass(self) -> None:
        for ports in ((1000, 2), (2000, 2)):
            self.send(packet(box.TCP, ports))
        self.tell("forget")
        self.tell("ok")
        self.assertIsNone(self.send(packet(box.TCP, (1000, 2))))
        self.assertIsNone(self.send(packet(box.TCP, (2, 2000)), box.TO_RELAY))
        self.assertEqual(self.send(packet(box.TCP, (3000, 2))), 0.0)
        self.assertEqual(self.send(packet(box.TCP, (1000, 2), flags=box.SYN)), 0.0)
        self.assertEqual(self.send(packet(box.TCP, (1000, 2))), 0.0)


class PeersTests(unittest.TestCase):
    def test_a_player_asks_for_the_program_and_takes_it(self) -> None:
        sent: list[bytes] = []
        seen: list[tuple[float, bytes]] = []
        stream = PlayerStream("live", "program", sent.append, lambda time, body: seen.append((time, body)))
        self.assertEqual(len(sent[0]), 1537)
        stream.feed(b"\x03" + bytes(2000))
        self.assertEqual(len(sent), 1)
        stream.feed(bytes(1072))
        self.assertEqual(len(sent[1]), 1536)
        self.assertIn(b"connect", sent[2])
        stream.feed(amf.command(0, "_result", 1.0, {}, None))
        self.assertIn(b"createStream", sent[3])
        stream.feed(amf.command(0, "_result", 2.0, None, 1.0))
        self.assertIn(b"program", sent[4])
        stream.feed(amf.message(6, 9, 1, b"\x17\x01frame"))
        self.assertEqual(seen, [(0.0, b"\x17\x01frame")])

    def test_a_playlist(self) -> None:
        text = ("#EXTM3U\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n#EXT-X-MAP:URI=\"a.mp4\"\n#EXTINF:2,\n1.m4s\n"
                "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"b.mp4\"\n#EXTINF:2,\n2.m4s\n")
        self.assertEqual(list(hls_peer.segments(text)), [("a.mp4", "1.m4s", 3), ("b.mp4", "2.m4s", 4)])


class MeasureTests(unittest.TestCase):
    def states(self, output: list[Frame]) -> list[str]:
        return measure.walk(judge.Program([program(180)]), output)

    def test_a_decoder_needs_what_frames_refer_to(self) -> None:
        whole = program(180)
        self.assertEqual(set(self.states(whole)), {measure.GOOD})
        self.assertEqual(set(self.states(whole[:2] + whole[3:])), {measure.GOOD})  # no frame needs number 2
        states = self.states(whole[:3] + whole[4:])
        self.assertEqual(states.count(measure.BAD), KEYS - 4)  # all to the next keyframe
        self.assertEqual(self.states(whole[1:]).count(measure.BAD), KEYS - 1)
        self.assertEqual(set(self.states(whole[:20] + whole[60:])), {measure.GOOD})
        again = [replace(frame, connection=2) for frame in whole[70:]]
        self.assertEqual(self.states(whole[:70] + again).count(measure.BAD), 50)

    def test_a_part_of_a_frame_is_excused_before_a_cut_alone(self) -> None:
        whole = program(180)
        part = replace(whole[5], identity="part")
        self.assertEqual(self.states([*whole[:5], part, *whole[60:]])[5], measure.CUT)
        self.assertEqual(self.states([*whole[:5], part])[5], measure.CUT)
        states = self.states([*whole[:5], part, *whole[6:]])
        self.assertEqual(states.count(measure.BAD), KEYS - 5)

    def trial(self, output: list[Frame], transport: str = "rtmp") -> SimpleNamespace:
        return SimpleNamespace(healthy=SimpleNamespace(log=SimpleNamespace(frames=program(180))),
                               cell=CELL[f"{transport}/outage-3/encoded"])

    def test_back_is_when_a_fresh_frame_can_be_decoded(self) -> None:
        whole = program(180)
        found = judge.Program([whole])
        since = whole[90].arrived - 0.01
        lost = whole[:30] + whole[90:]
        self.assertAlmostEqual(measure.back(self.trial(lost), found, lost, since), 30 * judge.FRAME + 0.01)
        old = [replace(frame, arrived=frame.arrived + 2) for frame in whole[60:70]]
        late = whole[:30] + old + whole[120:]
        self.assertAlmostEqual(measure.back(self.trial(late), found, late, since), 30 * judge.FRAME + 0.01)
        self.assertIsNone(measure.back(self.trial(lost), found, whole[:30], since))

    def test_what_is_counted_at_the_end(self) -> None:
        found = measure.read_totals(
            '{"message":"done: 334 frames in 00:00:11 | healthy: 334 frames, 3.0 MB | victim: 270 frames, 2.5 MB, '
            '64 dropped, 2 reconnects, 1 keyframes requested | recorded: 332 frames, 2 files, 3.0 MB, '
            '0 frames in 0 gaps, 2 incomplete frames left out"}')
        self.assertEqual((found["program"], found["recorded"], found["incomplete"]), (334, 332, 2))
        self.assertEqual(found["outputs"]["healthy"], {"sent": 334, "dropped": 0, "reconnects": 0, "keyframes": 0})
        self.assertEqual(found["outputs"]["victim"], {"sent": 270, "dropped": 64, "reconnects": 2, "keyframes": 1})
        self.assertIsNone(measure.read_totals("")["program"])


class RulesTests(unittest.TestCase):
    def result(self, **changes: object) -> dict:
        output = {"frames": 300, "missing": 0, "late": 0, "repeated": 0, "audio": 0, "unreadable": 0}
        counted = {"sent": 300, "dropped": 0, "reconnects": 0, "keyframes": 0}
        result = {
            "outputs": {"rtmp": output, "srt": output, "recording": output}, "continuity": 0, "gap": 0.05, "bit": True,
            "program": 300,
            "victim": {"frames": 240, "came": 240, "missing": 60, "late": 0, "repeated": 0, "unreadable": 0, "cut": 0, "key": True,
                       "connections": 1, "back": 0.3, "back_from_end": 0.3, "flowed": 0.2, "during": 9, "continuity": 0, "absent": 0},
            "totals": {"program": 300, "recorded": 300, "incomplete": 0, "outputs": {
                "healthy": counted, "srt": counted, "victim": {**counted, "sent": 250, "dropped": 50}}},
            "told": {"lines": 1, "minute": 1, "first": "frames are dropped"},
            "end": {"died": False, "status": 0, "shutdown": 1.0, "on_air": True}, "played": "2026-11-27 16:43"}
        for name, value in changes.items():
            first, _, second = name.partition("_")
            result[first] = {**result[first], second: value} if second else value
        return result

    def of(self, name: str, **changes: object) -> list[str]:
        return rules.faults(CELL[name], self.result(**changes), False)

    def test_each_bound_can_break(self) -> None:
        name = "rtmp/outage-3/encoded"
        self.assertEqual(self.of(name), [])
        totals, well = self.result()["totals"], self.result()["outputs"]
        for changes in (
                {"bit": False}, {"continuity": 1}, {"gap": 0.6}, {"end_status": 1}, {"end_died": True},
                {"end_shutdown": None}, {"end_shutdown": 4.0}, {"end_on_air": False}, {"program": 299},
                {"victim_back": None}, {"victim_back": 0.8}, {"victim_unreadable": 1}, {"victim_key": False},
                {"victim_absent": 1}, {"victim_came": 251}, {"told_lines": 0}, {"told_minute": 21},
                {"totals_program": None}, {"totals_recorded": 299}, {"totals_outputs": {}},
                {"totals_outputs": {**totals["outputs"], "victim": {"sent": 250, "dropped": 49}}},
                {"totals_outputs": {**totals["outputs"], "srt": {"sent": 299, "dropped": 0}}},
                *({"outputs": {**well, "rtmp": {**well["rtmp"], what: 1}}}
                  for what in ("missing", "late", "repeated", "unreadable", "audio"))):
            self.assertTrue(self.of(name, **changes), changes)

    def test_where_nothing_may_be_lost(self) -> None:
        for name, whole in (("srt-caller/outage-0.3/encoded", True), ("srt-caller/outage-1/encoded", False),
                            ("rtmp/outage-0.1/copy", True), ("rtmp/loss-1/copy", True), ("udp/loss-1/copy", False)):
            self.assertEqual(CELL[name].is_whole, whole, name)
        self.assertEqual(len(self.of("srt-caller/outage-0.3/encoded", victim_missing=0)), 0)
        self.assertEqual(len(self.of("srt-caller/outage-0.3/encoded")), 1)
        self.assertEqual(len(self.of("srt-caller/loss-1/encoded", victim_missing=0, victim_continuity=1)), 1)

    def test_a_program_that_ends_in_an_outage_has_no_way_back(self) -> None:
        self.assertEqual(self.of("rtmp/end/encoded", victim_back=None), [])
        self.assertEqual(len(self.of("rtmp/end/encoded", end_shutdown=3.6)), 1)
        outputs = {**self.result()["totals"]["outputs"], "victim": {"sent": 250, "dropped": 25}}
        self.assertEqual(len(self.of("rtmp/end/encoded", totals_outputs=outputs)), 1)

    def test_udp_does_not_know_what_the_network_lost(self) -> None:
        self.assertEqual(self.of("udp/outage-1/copy", told_lines=0, victim_unreadable=50, victim_key=False), [])
        self.assertEqual(len(self.of("udp/outage-1/copy", victim_back=2.6)), 1)

    def test_a_slow_network_may_damage_what_srt_sends(self) -> None:
        self.assertEqual(self.of("srt-caller/rate-0.5/encoded", victim_unreadable=9), [])
        self.assertEqual(len(self.of("srt-caller/outage-3/encoded", victim_unreadable=9)), 1)
        self.assertEqual(len(self.of("rtmp/rate-0.5/encoded", victim_unreadable=9)), 1)

    def test_frames_must_flow_through_a_slow_network(self) -> None:
        self.assertEqual(self.of("rtmp/rate-0.5/encoded"), [])
        self.assertEqual(len(self.of("rtmp/rate-0.5/encoded", victim_during=0)), 1)

    def test_the_next_keyframe_is_waited_for_where_none_can_be_asked_for(self) -> None:
        self.assertEqual(len(self.of("rtmp/outage-3/encoded", victim_back=2.7)), 1)
        self.assertEqual(self.of("rtmp/outage-3/copy", victim_back=2.7), [])
        self.assertEqual(len(self.of("rtmp/outage-3/copy", victim_back=2.8)), 1)

    def test_an_output_that_waits_counts_from_its_first_frame_on(self) -> None:
        outputs = self.result()["totals"]["outputs"]
        joined = {**outputs, "victim": {"sent": 240, "dropped": 50}}
        self.assertEqual(self.of("player/outage-3/encoded", totals_outputs=joined, victim_late=10), [])
        self.assertEqual(len(self.of("player/outage-3/encoded", totals_outputs=joined)), 1)
        self.assertEqual(self.of("player/outage-3/encoded", totals_outputs=joined, victim_connections=2), [])
        left = {**outputs, "victim": {"sent": 240, "dropped": 10}}
        for name in ("srt-listener/end/file", "player/end/file"):
            self.assertEqual(self.of(name, totals_outputs=left), [])  # given up after 5 s
        for name in ("srt-listener/end/encoded", "player/end/encoded"):
            self.assertEqual(len(self.of(name, totals_outputs=left)), 1)

    def test_frames_at_the_end_that_cannot_be_shown_are_told(self) -> None:
        outputs = self.result()["outputs"]
        lacking = {**outputs, "recording": {**outputs["recording"], "missing": 2}}
        totals = {**self.result()["totals"], "recorded": 298, "incomplete": 2}
        self.assertEqual(self.of("rtmp/outage-3/copy", outputs=lacking, totals=totals), [])
        self.assertTrue(self.of("rtmp/outage-3/copy", outputs=lacking))

    def test_the_short_form_tells_what_takes_long_and_does_not_judge_it(self) -> None:
        cell = CELL["rtmp/outage-3/encoded"]
        for changes in ({"victim_back": 20.0}, {"gap": 3.0}, {"end_shutdown": 9.0}):
            entry = table.Entry(cell, self.result(**changes), True)
            self.assertEqual((entry.broken, len(entry.late)), ([], 1), changes)
        self.assertTrue(table.Entry(cell, self.result(victim_back=None), True).broken)


class MatrixTests(unittest.TestCase):
    def test_every_fault_meets_every_transport_that_it_can_happen_to(self) -> None:
        self.assertEqual(len(CELL), len(cells.ALL))
        for transport in cells.TRANSPORTS:
            for use in cells.USES:
                self.assertTrue(any(cell.transport == transport and cell.use == use for cell in cells.ALL))
        self.assertTrue(all(name in CELL for name in cells.ALWAYS))

    def test_the_short_form_is_the_same_for_a_seed(self) -> None:
        one, two = cells.short(1), cells.short(2)
        self.assertEqual(one, cells.short(1))
        self.assertNotEqual(one, two)
        self.assertEqual(len(one), len(cells.ALWAYS) + cells.DRAWN)
        self.assertEqual({cell.transport for cell in one}, set(cells.TRANSPORTS))

    def test_cells_are_chosen_by_pattern(self) -> None:
        self.assertEqual([cell.name for cell in cells.matching(["udp/loss-1/copy"])], ["udp/loss-1/copy"])
        self.assertEqual(len(cells.matching(["hls/*"])), 9)
        self.assertEqual(cells.matching(["rtmp/none/copy"]), [])

    def test_a_cell_is_the_same_alone(self) -> None:
        cell = CELL["udp/loss-1/copy"]
        self.assertEqual(cell.random(1).random(), cell.random(1).random())
        self.assertNotEqual(cell.random(1).random(), cell.random(2).random())

    def test_tables(self) -> None:
        result = RulesTests().result()
        entries = [table.Entry(CELL["rtmp/outage-3/encoded"], result, False),
                   table.Entry(CELL["udp/outage-1/copy"], {**result, "bit": False}, False),
                   table.Entry(CELL["hls/full-disk/file"], {"failed": "OSError: no"}, False)]
        text = table.scorecard(entries, Path("/bin/true"), False, 7)
        self.assertIn("of 3 cells 1 hold, and 2 are broken", text)
        self.assertIn("| RTMP | encoded | – | 0.3, 60 |", text)
        self.assertIn("| UDP | copy | **0.3, 60** | – |", text)
        self.assertIn("- hls/full-disk/file: OSError: no", text)


class ScorecardTests(unittest.TestCase):
    def test_each_part_leaves_the_other_alone(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            path = Path(home) / "scorecard.md"
            path.write_text("# Chaos scorecard\n\nOld.\n")
            scorecard.write(path, "network", "# Network\n")
            found = scorecard.parts(path.read_text())
            self.assertEqual(found, {"chaos": "# Chaos scorecard\n\nOld.", "network": "# Network"})
            scorecard.write(path, "chaos", "# Chaos scorecard\n\nNew.\n")
            scorecard.write(path, "network", "# Network again\n")
            text = path.read_text()
            found = scorecard.parts(text)
            self.assertEqual(found, {"chaos": "# Chaos scorecard\n\nNew.", "network": "# Network again"})
            self.assertLess(text.index("Chaos"), text.index("Network"))


if __name__ == "__main__":
    unittest.main()
