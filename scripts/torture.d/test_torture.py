# SPDX-License-Identifier: Apache-2.0
"""Whether the mutators and the judge do what they should: `python3 -m unittest` in this directory."""
from __future__ import annotations

import argparse
import array
import json
import math
import random
import socket
import time
import threading
import unittest
from pathlib import Path
from unittest import mock

import media  # first: it says where the modules of other scripts are
import flv
import fmp4
import http_senders
import kinds
import links
import main
import mp4
import networks
import play
import reading
import sender
import stamps
import ts
import verdicts
from files import spoil
from media import RATE, Unit
from reading import Frame, Reading
from stream import Fault, Sent, Session, Shape, Studio

AVCC = b"\1\x64\0\x1f\xff\xe1\0\2\x67\1\1\0\1\x68"
AAC = b"\x11\x90"


def units(seconds: int = 4) -> list[Unit]:
    """Frames and packets of audio, in the order of their decoding."""
    found = [Unit("video", number / RATE, b"\0\0\0\2\x65" + bytes([number & 255]), key=number % RATE == 0, config=AVCC,
                  number=number, due=number / RATE) for number in range(seconds * RATE)]
    found += [Unit("audio", index * 1024 / 48_000, b"audio", config=AAC, due=index * 1024 / 48_000)
              for index in range(seconds * 46)]
    return sorted(found, key=lambda unit: unit.due)


def shown(numbers: list[int], begin: float = 0.0) -> list[Frame]:
    return [Frame(begin + index / RATE, number, 0 if number >= 0 else -1) for index, number in enumerate(numbers)]


def good(numbers: list[int]) -> Reading:
    """A recording of these frames, with a beep at each second's frame."""
    frames = shown(numbers)
    beeps = [(frame.time, frame.number // RATE % 8) for frame in frames
             if frame.number >= 0 and frame.number % RATE == 0]
    return Reading(frames, beeps, (320, 180), "1:1", RATE, True, [], len(frames))


def trial(*readings: Reading, use: str = "alone") -> verdicts.Trial:
    return verdicts.Trial("udp", use, 1.0, list(readings), own={second: 0.0 for second in range(40)})


class StampTests(unittest.TestCase):
    def test_outlier_moves_one_stamp(self) -> None:
        changed = stamps.outlier(units(), "video", 2.0, 5.0)
        off = [unit for unit, other in zip(changed, units()) if unit.time != other.time]
        self.assertEqual([(unit.number, unit.time) for unit in off], [(2 * RATE, 7.0)])

    def test_jump_moves_all_that_follows(self) -> None:
        changed = stamps.jump(units(), 2.0, -1.0)
        self.assertTrue(all(unit.time == other.time - (other.due >= 2) for unit, other in zip(changed, units())))

    def test_repeated(self) -> None:
        times = [unit.time for unit in stamps.repeated(units(), "video", 1.0, 2) if unit.kind == "video"]
        self.assertEqual(times[24:29], [0.96, 1.0, 1.0, 1.0, 28 / RATE])

    def test_held_units_are_due_at_once_and_keep_their_stamps(self) -> None:
        changed = stamps.held(units(), 1.0, 2.0)
        self.assertFalse([unit for unit in changed if 1.0 <= unit.due < 3.0])
        self.assertEqual([unit.time for unit in changed], [unit.time for unit in units()])

    def test_negative_offsets_show_frames_when_they_were(self) -> None:
        changed = [unit for unit in stamps.negative(units(), 0.08) if unit.kind == "video"]
        self.assertTrue(all(abs(unit.time + unit.offset - unit.number / RATE) < 1e-9 for unit in changed))
        message = flv.Messages().of(changed[1])[1]
        self.assertEqual(int.from_bytes(message[2][2:5], "big", signed=True), -80)

    def test_short_lengths(self) -> None:
        changed = next(unit for unit in stamps.short_lengths(units()) if unit.kind == "video")
        self.assertEqual((changed.body[:3], changed.config[4] & 3), (b"\0\2\x65", 1))
        whole = next(unit for unit in units() if unit.kind == "video")
        self.assertEqual(ts.annex_b(changed), ts.annex_b(whole))

    def test_damage_flips_one_bit_and_spares_the_head(self) -> None:
        given = [Unit("video", 0.0, bytes(40), due=number / RATE) for number in range(2 * RATE)]
        changed = stamps.damaged(given, 0.0, 1.0, 5, random.Random(1))
        wrong = [unit for unit, other in zip(changed, given) if unit.body != other.body]
        self.assertEqual([round(unit.due * RATE) for unit in wrong], [0, 5, 10, 15, 20])
        self.assertTrue(all(sum(byte.bit_count() for byte in unit.body) == 1 for unit in wrong))
        self.assertFalse(any(any(unit.body[:stamps.HEAD]) for unit in wrong))

    def test_nothing_is_changed_in_place(self) -> None:
        given = units()
        for change in (lambda all: stamps.jump(all, 1, 1), lambda all: stamps.held(all, 1, 1), stamps.short_lengths,
                       lambda all: stamps.late(all, "audio", 1), lambda all: stamps.unstamped(all, "video", 0, 9)):
            change(given)
            self.assertEqual(given, units())


class FLVTests(unittest.TestCase):
    def test_file_can_be_taken_apart_again(self) -> None:
        data = b"".join(piece for _, piece in flv.stream(units()))
        clip = media.read_flv(data)
        self.assertEqual([unit.number for unit in clip.units if unit.kind == "video"], list(range(4 * RATE)))
        self.assertEqual(clip.units[0].config, AVCC)

    def test_a_new_configuration_has_a_header(self) -> None:
        messages = flv.Messages()
        one, two = units()[0], Unit("video", 1, b"\0\0\0\1\x65", key=True, config=AVCC + b"x")
        self.assertEqual([len(messages.of(unit)) for unit in (one, one, two)], [2, 1, 2])

    def test_times_wrap_and_have_an_extended_field(self) -> None:
        self.assertEqual(flv.milliseconds(2**32 / 1000 + 0.04), 40)
        data = flv.chunks((9, 0x01000000, bytes(200)), 1)
        self.assertEqual((data[1:4], data[12:16], data[144:149]), (b"\xff\xff\xff", b"\1\0\0\0", b"\xc6\1\0\0\0"))


class TransportStreamTests(unittest.TestCase):
    def packets(self, changes: tuple[tuple[float, ts.Program], ...] = ()) -> list[ts.Timed]:
        return list(ts.stream(units(), changes))

    def test_packets_are_whole_and_counted(self) -> None:
        counters: dict[int, int] = {}
        for _, packet in self.packets():
            self.assertEqual((len(packet), packet[0]), (188, 0x47))
            pid = (packet[1] & 31) << 8 | packet[2]
            self.assertEqual(packet[3] & 15, (counters.get(pid, -1) + 1) & 15)
            counters[pid] = packet[3] & 15
        self.assertEqual(set(counters), {0, ts.PMT_PID, ts.VIDEO, ts.AUDIO})

    def test_checksum(self) -> None:
        self.assertEqual(ts.checksum(b"123456789"), 0x0376E6E7)

    def test_program_changes_its_pids(self) -> None:
        changed = self.packets(((2.0, ts.Program(0x200, 0x201, 1)),))
        pids = [(due, (packet[1] & 31) << 8 | packet[2]) for due, packet in changed]
        self.assertTrue(all((pid < 0x200) == (due < 2) for due, pid in pids if pid not in (0, ts.PMT_PID)))

    def test_program_changes_its_codec(self) -> None:
        muxer = ts.Muxer()
        kinds_told = []
        for program in (ts.Program(), ts.Program(version=1, coding=ts.HEVC)):
            muxer.change(program)
            kinds_told.append(muxer.psi()[1][17])
        self.assertEqual(kinds_told, [ts.AVC, ts.HEVC])
        frames = [b"\0\0\0\1\x46\1\x50" + bytes([number]) for number in range(3)]
        self.assertEqual(ts.access_units(b"".join(frames)), frames)
        self.assertEqual(ts.annex_b(Unit("video", 0.0, frames[1], tag=ts.HEVC, key=True, config=AVCC)), frames[1])

    def test_frames_without_stamps(self) -> None:
        unit = units()[0]
        self.assertEqual(ts.pes(unit)[7], 0xC0)
        unit.time = math.nan
        self.assertEqual(ts.pes(unit)[7], 0)

    def test_stamps_wrap(self) -> None:
        self.assertEqual(ts.stamp(2, 2**33 / 90000), ts.stamp(2, 0))

    def test_null_packets_fill_a_datagram(self) -> None:
        whole = b"".join(packet for _, packet in self.packets()[:9])
        self.assertEqual(len(ts.filled(whole, 1316)), 2 * 1316)
        self.assertEqual(ts.filled(whole[:1316], 1316), whole[:1316])

    def test_cut_and_loss(self) -> None:
        whole = self.packets()
        self.assertEqual(ts.begin_at(whole, 3), whole[3:])
        left = ts.lose(whole, 1.0, 2.0, 2)
        self.assertLess(len(left), len(whole))
        self.assertEqual([packet for packet in left if packet[0] >= 2], [packet for packet in whole if packet[0] >= 2])


    def test_flipped_bits_leave_headers_whole(self) -> None:
        whole = self.packets()
        changed = ts.flip(whole, 1.0, 2.0, 3, random.Random(1))
        wrong = [(one, two) for one, two in zip(whole, changed) if one != two]
        self.assertTrue(wrong)
        for (due, before), (_, after) in wrong:
            self.assertTrue(1.0 <= due < 2.0 and before[:4] == after[:4] and len(after) == ts.PACKET)


class MP4Tests(unittest.TestCase):
    def film(self) -> bytes:
        def track(kind: bytes, scale: int) -> bytes:
            header = mp4.box(b"mdhd", bytes(12) + scale.to_bytes(4, "big") + bytes(8))
            return mp4.box(b"trak", mp4.box(b"tkhd", bytes(84)) + mp4.box(
                b"mdia", header + mp4.box(b"hdlr", bytes(8) + kind + bytes(12))))

        movie = mp4.box(b"mvhd", bytes(12) + (1000).to_bytes(4, "big") + bytes(84))
        return mp4.box(b"mdat", b"media") + mp4.box(b"moov", movie + track(b"vide", 12_800) + track(b"soun", 48_000))

    def test_edit_list_is_in_ticks_of_each_track(self) -> None:
        data = mp4.cut_by_edit(self.film(), 0.5, 2.0, 0.4)
        self.assertIn((2000).to_bytes(4, "big") + (6400).to_bytes(4, "big") + b"\0\1\0\0", data)
        self.assertIn((2000).to_bytes(4, "big") + (24_000).to_bytes(4, "big") + b"\0\1\0\0", data)
        self.assertEqual(data.count((400).to_bytes(4, "big") + b"\xff\xff\xff\xff"), 2)
        self.assertEqual(sum(len(contents) + 8 for _, contents in mp4.boxes(data)), len(data))

    def test_only_the_picture_is_turned(self) -> None:
        data = mp4.rotate(self.film(), 1)
        self.assertEqual(len(data), len(self.film()))
        self.assertEqual(data.count((-65536).to_bytes(4, "big", signed=True)), 1)

    def test_samples_are_spoilt_where_it_is_said(self) -> None:
        data = b"RIFFdata\0\0\0\0" + bytes(48_000 * 8)
        changed = spoil(data, 0.5, [math.inf])
        self.assertEqual(len(changed), len(data))
        first = next(at for at, (one, two) in enumerate(zip(changed, data)) if one != two)
        self.assertEqual(first, 12 + 24_000 * 8 + 2)


class PlaylistTests(unittest.TestCase):
    def session(self) -> Session:
        return Session(units(), codings=((0.0, media.Coding()), (2.0, media.Coding(size=(640, 360)))))

    def test_sections_have_the_shape_of_their_coding(self) -> None:
        sections = http_senders.sections(self.session())
        entries = [data[data.index(b"avc1") + 28:][:4] for data in sections]
        self.assertEqual(entries, [(320).to_bytes(2, "big") + (180).to_bytes(2, "big"),
                                   (640).to_bytes(2, "big") + (360).to_bytes(2, "big")])
        for data in sections:
            self.assertEqual([kind for kind, _ in mp4.boxes(data)], [b"ftyp", b"moov"])
            self.assertEqual(sum(len(contents) + 8 for _, contents in mp4.boxes(data)), len(data))

    def test_fragments_have_all_units_at_their_places(self) -> None:
        cut = http_senders.cut(self.session(), 0)
        self.assertEqual([begin for _, begin, _, _ in cut], [0.0, 1.0, 2.0, 3.0])
        for _, begin, _, data in cut:
            (_, head), (_, body) = mp4.boxes(data)
            runs = [dict(mp4.boxes(track)) for kind, track in mp4.boxes(head) if kind == b"traf"]
            self.assertEqual(int.from_bytes(runs[0][b"tfdt"][4:], "big"), begin * fmp4.SCALE)
            places = [int.from_bytes(run[b"trun"][8:12], "big") for run in runs]
            self.assertEqual(places[0], len(head) + 16)
            self.assertEqual((data[places[0] + 4], data[places[1]:places[1] + 5]), (0x65, b"audio"))
        bodies = b"".join(dict(mp4.boxes(data))[b"mdat"] for _, _, _, data in cut)
        self.assertEqual(len(bodies), sum(len(unit.body) for unit in units()))

    def test_a_change_is_a_discontinuity_that_is_counted_when_it_is_gone(self) -> None:
        listed = [http_senders.Listed(0, number, 1.0, int(number >= 8)) for number in range(10)]
        lines = http_senders.playlist(listed[6:], 1).splitlines()
        self.assertEqual(lines[4:], [
            "#EXT-X-DISCONTINUITY-SEQUENCE:0", '#EXT-X-MAP:URI="0-init-0.mp4"', "#EXTINF:1.000,", "0-6.m4s",
            "#EXTINF:1.000,", "0-7.m4s", "#EXT-X-DISCONTINUITY", '#EXT-X-MAP:URI="0-init-1.mp4"', "#EXTINF:1.000,",
            "0-8.m4s", "#EXTINF:1.000,", "0-9.m4s"])
        lines = http_senders.playlist(listed[8:], 1).splitlines()
        self.assertEqual(lines[4:6], ["#EXT-X-DISCONTINUITY-SEQUENCE:1", '#EXT-X-MAP:URI="0-init-1.mp4"'])
        packets = http_senders.playlist([http_senders.Listed(0, 3, 1.0, -1)], 1)
        self.assertFalse("MAP" in packets or "DISCONTINUITY" in packets)


class LinkTests(unittest.TestCase):
    def setUp(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(10)
        self.addCleanup(self.server.close)
        self.door = play.free_port()

    def link(self, relay_calls: bool = True) -> links.TCPLink:
        link = links.TCPLink(self.door, self.server.getsockname()[1], [], sender.Pace(), relay_calls)
        self.addCleanup(link.close)
        return link

    def pair(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of a connection through the link."""
        caller = socket.create_connection(("127.0.0.1", self.door), 10)
        called = self.server.accept()[0]
        called.settimeout(10)
        for end in (caller, called):
            self.addCleanup(end.close)
        # What has passed once has a pair in the link.
        caller.sendall(b"hello")
        self.assertEqual(called.recv(9), b"hello")
        return caller, called

    def test_what_is_sent_while_a_link_is_frozen_passes_afterwards(self) -> None:
        link = self.link()
        caller, called = self.pair()
        fault = Fault("freeze", 0, 1)
        link.begin(fault)
        called.sendall(b"late")
        caller.settimeout(0.2)
        self.assertRaises(TimeoutError, caller.recv, 9)
        link.end(fault)
        caller.settimeout(10)
        self.assertEqual(caller.recv(9), b"late")

    def test_a_link_that_is_cut_resets_connections_and_refuses_others(self) -> None:
        link = self.link()
        fault = Fault("cut", 0, 1)
        for end in self.pair():
            self.assertIsNotNone(end)
        caller, called = self.pair()
        link.begin(fault)
        for end in (caller, called):
            self.assertRaises(ConnectionResetError, end.recv, 9)
        self.assertRaises(ConnectionRefusedError, self.pair)
        link.end(fault)
        self.pair()

    def test_relay_s_end_of_a_dead_connection_stays_open(self) -> None:
        for relay_calls in (True, False):
            link = self.link(relay_calls)
            caller, called = self.pair()
            relays, other = (caller, called) if relay_calls else (called, caller)
            fault = Fault("dead", 0, 1)
            link.begin(fault)
            self.assertRaises(ConnectionResetError, other.recv, 9)
            link.end(fault)
            relays.sendall(b"question")
            relays.settimeout(0.2)
            self.assertRaises(TimeoutError, relays.recv, 9)
            self.pair()
            link.close()
            self.door = play.free_port()

    def test_slow_answers(self) -> None:
        link = self.link()
        link.begin(Fault("slow", 0, 1, 0.3))
        caller, called = self.pair()
        begun = time.monotonic()
        called.sendall(b"answer")
        self.assertEqual(caller.recv(9), b"answer")
        self.assertGreater(time.monotonic() - begun, 0.2)

    def test_a_sender_comes_back_with_a_keyframe(self) -> None:
        one = sender.Sender(Sent("", [Session(units())], restamps=True), "flv", 1, Path())
        self.assertEqual(one.rest(units()), [])  # without a fault nothing explains the loss
        one.link = links.Link([], one.pace)
        one.pace.begun = time.monotonic() - 1.5
        left = one.rest([Unit("data", 0.0, b"metadata"), *units()])
        self.assertEqual([(unit.kind, unit.due, unit.time) for unit in left[:2]],
                         [("data", 2.0, 0.0), ("video", 2.0, 0.0)])
        self.assertTrue(left[1].key)


    def test_a_server_fails_once_its_playlist_tells_of_another_coding(self) -> None:
        sent = Sent("", [Session(fails=30.0)])
        sender = http_senders.HLS(sent, "ts", 1, Path())
        sender.kept, sender.lock = {"live.m3u8": b"#EXTM3U\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"}, threading.Lock()
        sender.pace.begin()
        request = mock.Mock(path="/live.m3u8", headers={})
        sender.answer(request)
        sender.kept["live.m3u8"] += b"#EXT-X-DISCONTINUITY\n"
        sender.answer(request)
        request.send_error.assert_not_called()
        self.assertEqual(request.wfile.write.call_count, 2)
        sender.answer(request)
        request.send_error.assert_called_once_with(503)
        sender.fails_until = 0.001
        sender.answer(request)
        self.assertEqual(request.wfile.write.call_count, 3)


class Canned(Studio):
    """A studio that codes nothing."""

    def plain(self, **coding: object) -> list[Unit]:
        return units(-(-int(coding.get("frames", self.frames)) // RATE))  # type: ignore[call-overload]


class NetworkKindTests(unittest.TestCase):
    def sent(self, make: kinds.Make, transport: str) -> list[Sent]:
        return [make(Canned(Path(), Path(), random.Random(seed), transport, "flv", False)) for seed in range(5)]

    def test_streams_last_until_all_must_be_right_again(self) -> None:
        for make in (networks.cut, networks.freeze, networks.dead, networks.starved, networks.two):
            for transport in networks.CALLED:
                for sent in self.sent(make, transport):
                    end = max([0.0, *(end for _, end in sent.disturbed)])
                    bound = verdicts.bound(sent, verdicts.Trial(transport, "alone", 1.0))
                    last = max(unit.due for unit in sent.units)
                    self.assertGreater(last - verdicts.TAILS[transport], end + bound, sent.told)

    def test_what_a_buffer_hides_is_no_disturbance(self) -> None:
        for sent in self.sent(networks.freeze, "srt"):
            fault = sent.faults[0]
            self.assertEqual(sent.disturbed, [] if fault.end - fault.begin < 0.2 else [(fault.begin, fault.end)])

    def test_the_second_disturbance_begins_while_the_first_one_is_recovered_from(self) -> None:
        for transport in ("udp", "srt", "rtmp", "hls"):
            for sent in self.sent(networks.two, transport):
                (_, end), (begin, _) = sent.disturbed
                self.assertLess(begin, end + verdicts.BOUNDS[transport] + sent.bound)
                self.assertFalse(sent.faults and transport == "udp")
                self.assertFalse(transport == "srt" and any(fault.how == "cut" for fault in sent.faults))


class ReadingTests(unittest.TestCase):
    def test_beeps_say_when_and_which(self) -> None:
        samples = array.array("h")
        for second in range(9):
            count = round(media.BEEP * reading.HERTZ)
            step = 2 * math.pi * media.pitch(second) / reading.HERTZ
            tone = [round(16_000 * math.sin(step * at)) for at in range(count)]
            samples.extend(tone + [0] * (reading.HERTZ - count))
        found = reading.beeps(samples)
        self.assertEqual([which for _, which in found], [0, 1, 2, 3, 4, 5, 6, 7, 0])
        self.assertTrue(all(abs(time - second) < 0.001 for second, (time, _) in enumerate(found)))

    def test_offsets(self) -> None:
        one = good(list(range(100)))
        one.beeps = [(time + 0.04, which) for time, which in one.beeps]
        self.assertTrue(all(abs(off - 0.04) < 1e-9 for off in reading.offsets(one).values()))


class VerdictTests(unittest.TestCase):
    def sent(self, **more: object) -> Sent:
        return Sent("", [Session(units(14))], **more)  # type: ignore[arg-type]

    def faults(self, numbers: list[int], **more: object) -> list[str]:
        return verdicts.faults(self.sent(**more), trial(good(numbers)))

    def test_a_whole_program_holds(self) -> None:
        self.assertEqual(self.faults(list(range(14 * RATE))), [])

    def test_what_stands_still_at_the_end_is_no_fault(self) -> None:
        self.assertEqual(self.faults([*range(14 * RATE), *[14 * RATE - 1] * 40]), [])

    def test_missing_and_repeated_frames_are_seen(self) -> None:
        for numbers in ([*range(150), *range(151, 350)], [*range(150), 149, *range(150, 350)],
                        [*range(150), -1, *range(151, 350)]):
            self.assertTrue(any("wrong steps" in fault for fault in self.faults(numbers)), numbers[148:152])

    def test_a_disturbance_excuses_what_is_in_its_bound_alone(self) -> None:
        numbers = [*range(150), *range(160, 350)]
        self.assertEqual(self.faults(numbers, disturbed=[(6.0, 6.4)]), [])
        self.assertTrue(self.faults(numbers, disturbed=[(1.0, 1.5)]))
        self.assertTrue(self.faults(numbers, disturbed=[(8.0, 8.5)]))

    def test_an_old_frame_counts_where_it_is_shown(self) -> None:
        numbers = [*range(160), 20, *range(161, 350)]
        self.assertEqual(self.faults(numbers, disturbed=[(6.0, 6.4)]), [])
        self.assertTrue(self.faults(numbers, disturbed=[(0.5, 1.0)]))

    def test_frozen_to_the_end_is_seen(self) -> None:
        self.assertTrue(any("shows nothing after" in fault for fault in self.faults([*range(150), *[149] * 100])))

    def test_a_copy_may_repeat_what_the_sender_does(self) -> None:
        numbers = list(range(200))
        one = good(numbers)
        one.frames += [Frame(8 + index / RATE / 2, 200 + index // 2, 0) for index in range(300)]
        one.beeps = good(list(range(350))).beeps
        doubled = self.sent(doubled=True)
        self.assertEqual(verdicts.faults(doubled, trial(one, use="copy")), [])
        self.assertTrue(verdicts.faults(doubled, trial(one)))
        self.assertTrue(verdicts.faults(self.sent(), trial(one, use="copy")))

    def test_late_start_is_seen(self) -> None:
        self.assertTrue(any("begins" in fault for fault in self.faults(list(range(200, 350)))))

    def test_a_copy_of_a_cut_file_may_begin_with_the_next_keyframe(self) -> None:
        sent = Sent("", file=Path("cut.mp4"), frames=(20, 149), disturbed=[(0.8, 0.9)])
        reading = good(list(range(25, 147)))
        self.assertEqual(verdicts.faults(sent, trial(reading, use="copy")), [])
        self.assertTrue(any("instead of" in fault for fault in verdicts.faults(sent, trial(reading))))
        self.assertTrue(verdicts.faults(sent, trial(good(list(range(50, 147))), use="copy")))
        self.assertTrue(verdicts.faults(sent, trial(good(list(range(19, 150))), use="copy")))

    def test_audio_that_is_off_is_seen(self) -> None:
        one = good(list(range(350)))
        one.beeps = [(time + 0.006, which) for time, which in one.beeps]
        self.assertTrue(any("+6 ms off" in fault for fault in verdicts.faults(self.sent(), trial(one))))
        one.beeps = [(time - 0.002, which) for time, which in one.beeps]
        self.assertEqual(verdicts.faults(self.sent(), trial(one)), [])
        del one.beeps[5]
        self.assertEqual(verdicts.faults(self.sent(), trial(one)), ["no beep of second 5"])

    def test_shape_is_seen(self) -> None:
        self.assertTrue(any("320x180 instead of 640x360" in fault
                            for fault in self.faults(list(range(350)), shape=Shape((640, 360)))))

    def test_region_is_seen(self) -> None:
        numbers = list(range(350))
        self.assertTrue(any("do not have the shape" in fault for fault in self.faults(numbers, moves=[(200, 1)])))

    def test_life_and_memory(self) -> None:
        for change, words in (({"died": True}, "by itself"), ({"status": 139}, "139"),
                              ({"status": None}, "does not end"),
                              ({"mebibytes": 900.0}, "memory")):
            one = trial(good(list(range(350))))
            vars(one).update(change)
            self.assertTrue(any(words in fault for fault in verdicts.faults(self.sent(), one)), words)

    def test_memory_that_is_kept_is_seen(self) -> None:
        sent = self.sent(disturbed=[(4.0, 4.5)])
        for peak, late, broken in ((300.0, 110.0, False), (300.0, 300.0, True), (100.0, 100.0, False)):
            one = trial(good(list(range(350))))
            one.resident = [(second / 10, 100.0 if second < 40 else peak if second < 80 else late)
                            for second in range(145)]
            self.assertEqual(any("memory" in fault for fault in verdicts.faults(sent, one)), broken)

    def test_words(self) -> None:
        one = trial(good(list(range(350))))
        self.assertEqual(verdicts.faults(self.sent(says="moved"), one), ["nothing in the log tells of it"])
        one.log = [json.dumps({"level": "warning", "message": "the source was moved"})]
        self.assertEqual(verdicts.faults(self.sent(says="moved"), one), [])
        one.log *= 40
        self.assertEqual(verdicts.faults(self.sent(says="moved"), one), ["40 warnings"])

    def test_recordings_of_a_source_are_judged(self) -> None:
        self.assertIn("the source was not recorded",
                      verdicts.faults(self.sent(), trial(good(list(range(350))), use="record-sources")))


class CaseTests(unittest.TestCase):
    def options(self, **more: object) -> argparse.Namespace:
        return argparse.Namespace(**{"seed": 7, "count": 60, "only": [], "all": False, "short": False, **more})

    def test_cases_are_the_seed_s(self) -> None:
        self.assertEqual(main.chosen(self.options()), main.chosen(self.options()))
        self.assertNotEqual(main.chosen(self.options()), main.chosen(self.options(seed=8)))

    def test_each_kind_is_played(self) -> None:
        self.assertEqual({case.kind for case in main.chosen(self.options())}, set(kinds.ALL))

    def test_one_case_is_played_alone_with_its_own_numbers(self) -> None:
        case = main.chosen(self.options())[5]
        self.assertEqual(main.chosen(self.options(only=[case.name])), [case])
        self.assertEqual(play.seed_of(7, case).random(), play.seed_of(7, case).random())

    def test_short_cases_are_possible(self) -> None:
        self.assertTrue(all(case.is_possible for case in main.chosen(self.options(short=True))))


if __name__ == "__main__":
    unittest.main()
