// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Ingest
@testable import SourceClock

@Suite("Timing of a live source")
struct SourceTimingTests {
    private static let tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)] = [
        .video: (.milliseconds, nil), .audio: (.milliseconds, nil),
    ]

    private let log = CollectedLog()
    private let monitor: SourceMonitor
    private let timing: SourceTiming

    init() {
        monitor = SourceMonitor(logger: log.logger)
        timing = SourceTiming(
            SourceClock(.rtmp, tracks: Self.tracks), frameRate: FrameRate(25), programTime: ProgramTime(), name: "test",
            monitor: monitor)
    }

    private func at<Line>(_ milliseconds: Int64) -> Instant<Line> { Instant(milliseconds, in: .milliseconds) }

    /// Notes packets of `tracks` every 40 ms, each when it is sent, with stamps that are `origin` behind the arrivals.
    private func note(_ tracks: [TrackKind], _ range: Range<Int64>, origin: Int64 = 0) {
        for time in stride(from: range.lowerBound, to: range.upperBound, by: 40) {
            for track in tracks {
                _ = timing.note(
                    SourceClock.Stamp(track, dts: time - origin, duration: 40), arrival: at(time))
            }
            timing.advance(to: at(time))
        }
    }

    @Test(
        "If one track of a source stops, the track is reported as silent, and its return is reported as well",
        arguments: [
            (TrackKind.video, TrackKind.audio), (.audio, .video),
        ])
    func deadTrack(dead: TrackKind, other: TrackKind) {
        note([.video, .audio], 0..<3000)
        #expect(monitor.status.silentTracks.isEmpty)
        note([other], 3000..<5000)
        #expect(monitor.status.silentTracks == [dead])
        #expect(log.lines.filter { $0.contains("no \(dead.rawValue) comes from the input") }.count == 1)
        note([.video, .audio], 5000..<6000)
        #expect(monitor.status.silentTracks.isEmpty)
    }

    @Test("If a source stalls, both tracks are reported as silent, even though no packet arrives")
    func stall() {
        note([.video, .audio], 0..<3000)
        timing.advance(to: at(4500))
        #expect(monitor.status.silentTracks == [.video, .audio])
    }

    @Test("When a source is reopened queued frames keep their times, and audio gets times only from new packets")
    func reopened() throws {
        note([.video, .audio], 0..<3000)
        let before = try #require(timing.due(at(2960), of: .video))
        let first = try #require(timing.placeAudio(at(2960)))
        timing.restart(Self.tracks)
        #expect(!timing.isPlaced)
        #expect(timing.due(at(2960), of: .video) == before)
        #expect(timing.placeAudio(at(2960)) == nil)
        note([.video, .audio], 10_000..<13_000, origin: 9_000)
        let second = try #require(timing.placeAudio(at(12_000)))
        #expect(second.placement == first.placement + 1)
    }

    @Test("If the next sender has no audio, its video is given program times after a short wait")
    func withoutAudio() {
        note([.video, .audio], 0..<3000)
        timing.restart(Self.tracks)
        note([.video], 10_000..<12_700, origin: 9_000)
        #expect(timing.isPlaced && monitor.status.silentTracks == [.audio])
    }

    @Test("A jump in a source's program times is reported to its audio only once")
    func step() throws {
        note([.video, .audio], 0..<3000)
        _ = timing.placeAudio(at(2960))
        // From here on all packets arrive 400 ms later, which is more than the buffer covers.
        note([.video, .audio], 3400..<4400, origin: 400)
        let moved = try #require(timing.placeAudio(at(3900)))
        #expect(moved.step > .milliseconds(100))
        #expect(timing.placeAudio(at(3900))?.step == .zero)
    }

    @Test("Packets of a playlist that were read ahead are decoded only shortly before they are due")
    func ahead() {
        let timing = SourceTiming(
            SourceClock(.playlist(target: .seconds(2)), tracks: Self.tracks), frameRate: FrameRate(25),
            programTime: ProgramTime(),
            name: "test", monitor: monitor)
        for time in stride(from: Int64(0), to: 6000, by: 40) {
            for track in [TrackKind.video, .audio] {
                _ = timing.note(SourceClock.Stamp(track, dts: time, duration: 40), arrival: at(0))
            }
        }
        #expect(timing.isPlaced)
        #expect(timing.isTimeToDecode(at(0), of: .video, now: at(0)))
        #expect(!timing.isTimeToDecode(at(5000), of: .video, now: at(1000)))
        // The buffer for segments of 2 s is 0.5 s longer than a segment.
        #expect(!timing.isTimeToDecode(at(5000), of: .video, now: at(4500)))
        #expect(timing.isTimeToDecode(at(5000), of: .video, now: at(5000)))
    }

    @Test(
        "If a source's program times change, they are aligned to whole program frames, and audio stays in sync")
    func phase() throws {
        // Ticks begin 7 ms after whole frames of our clock.
        let line = ProgramClockLine(origin: 7_000_000, image: .zero, rate: 0)
        let timing = SourceTiming(
            SourceClock(.rtmp, tracks: Self.tracks), frameRate: FrameRate(25), programTime: ProgramTime(line),
            name: "test", monitor: monitor)
        func note(_ range: Range<Int64>, late: Int64, by shift: Int64) {
            for time in stride(from: range.lowerBound, to: range.upperBound, by: 40) {
                for track in [TrackKind.audio, .video] {
                    let stamp = SourceClock.Stamp(track, dts: time + shift, duration: 40)
                    _ = timing.note(stamp, arrival: at(time + late))
                }
            }
        }
        func expectInPhase(_ time: Int64) throws {
            let video = try #require(timing.due(at(time), of: .video))
            let position = line.image(of: video).nanoseconds % 40_000_000
            #expect(min(position, 40_000_000 - position) < 1_000_000)
            #expect(timing.due(at(time), of: .audio) == video)
        }
        note(0..<3000, late: 3, by: 0)
        try expectInPhase(3000)
        // From here on all packets arrive 333 ms later than before.
        note(3000..<6000, late: 333, by: 0)
        try expectInPhase(6000)
        timing.restart(Self.tracks)
        note(8000..<10_000, late: 11, by: -7777)
        #expect(timing.isPlaced)
        let last = timing.note(SourceClock.Stamp(.video, dts: 2223, duration: 40), arrival: at(10_011))
        try expectInPhase(try #require(last).time.nanoseconds / 1_000_000)
    }

    /// How a live source in a program that runs already is timed, 3 s after its first packet. It sends a transport
    /// stream with B-frames, whose packets of video are read a frame later. One of its frames has wrong timestamps.
    private struct Early {
        /// How much later than a program frame a source's frame is due, and how much later than video its audio is.
        var (phase, audio) = (Duration.zero, Duration.zero)
        /// By how much the source was moved since it was placed.
        var moved = Duration.zero

        /// The frame with the number `wrong` is off by `error`.
        init(wrong: Int64, by error: Duration, at start: Int64, monitor: SourceMonitor) throws {
            let line = ProgramClockLine(origin: 7_000_000, image: .zero, rate: 0)
            let timing = SourceTiming(
                SourceClock(.transportStream, tracks: [.video: (.mpegTS, 33), .audio: (.mpegTS, 33)]),
                frameRate: FrameRate(25), programTime: ProgramTime(line), name: "test", monitor: monitor)
            let (frame, packet) = (FrameRate(25).timeBase, TimeBase(1024, 48_000))
            // For each frame of a group of four, how many frames later it is shown than it is decoded.
            let offsets: [Int64] = [2, 4, 1, 1]
            var packets: [(arrival: Duration, stamp: SourceClock.Stamp)] = []
            for number in Int64(0)..<75 {
                let off = TimeBase.mpegTS.ticks(frame.duration(number) + (number == wrong ? error : .zero)) + 900_000
                let shown = off + 3600 * offsets[Int(number % 4)]
                let stamp = SourceClock.Stamp(.video, dts: off, pts: shown, duration: 3600)
                packets.append((frame.duration(number + 1), stamp))
            }
            for number in Int64(0)..<141 {
                let stamp = SourceClock.Stamp(.audio, dts: number * 1920 + 900_000, duration: 1920)
                packets.append((packet.duration(number), stamp))
            }
            for (arrival, stamp) in packets.sorted(by: { $0.arrival < $1.arrival }) {
                let now = MonotonicInstant(start, in: .milliseconds) + arrival
                let noted = timing.note(stamp, arrival: now)
                timing.advance(to: now)
                guard let noted, stamp.track == .audio, let place = timing.placeAudio(noted.time) else { continue }
                moved += place.step
            }
            let time = Timestamp(10_000 + 2800, in: .milliseconds)
            let video = try #require(timing.due(time, of: .video))
            audio = try #require(timing.due(time, of: .audio)) - video
            let position = line.image(of: video)
            phase = position - FrameRate(25).start(of: FrameRate(25).frame(at: position))
        }
    }

    // Regression: if a source was placed directly after a frame with a wrong timestamp, its frames were aligned with
    // the program's frames as if all of them were off, and audio was off by up to half a frame for half a minute.
    @Test("A frame with a wrong timestamp at a source's beginning does not put its frames out of phase")
    func wrongTimestamp() throws {
        var random = SeededRandom("wrong timestamps at a beginning")
        for _ in 0..<400 {
            let wrong = Int64.random(in: 3...24, using: &random)
            let error = Duration.milliseconds(Int64.random(in: 100...900, using: &random) * random.pick([-1, 1]))
            let start = Int64.random(in: 0..<40, using: &random)
            let found = try Early(wrong: wrong, by: error, at: start, monitor: monitor)
            #expect(
                found.phase.magnitude < .milliseconds(2) && found.audio.magnitude < .milliseconds(2),
                "frame \(wrong) is off by \(error): \(found)")
        }
    }

    @Test("Audio that is played before a source's first frame is not moved in time when that frame arrives")
    func phaseOfFirstAudio() throws {
        let line = ProgramClockLine(origin: 7_000_000, image: .zero, rate: 0)
        let timing = SourceTiming(
            SourceClock(.rtmp, tracks: Self.tracks), frameRate: FrameRate(25), programTime: ProgramTime(line),
            name: "test", monitor: monitor)
        var wasPlacedByAudio: Bool?
        var steps: [Duration] = []
        for time in Int64(0)..<3000 where time % 40 == 3 || time % 5 == 0 {
            let track = time % 40 == 3 ? TrackKind.video : .audio
            _ = timing.note(SourceClock.Stamp(track, dts: time, duration: 5), arrival: at(time))
            if timing.isPlaced, wasPlacedByAudio == nil { wasPlacedByAudio = track == .audio }
            if let place = timing.placeAudio(at(time)) { steps.append(place.step) }
        }
        #expect(wasPlacedByAudio == true)
        // The mapping may be moved once when it is created, but only before all audio.
        #expect(steps.count > 100 && steps.dropFirst().allSatisfy { $0 == .zero }, "\(steps.filter { $0 != .zero })")
    }
}
