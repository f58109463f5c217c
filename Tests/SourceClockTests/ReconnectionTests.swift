// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

/// Tests senders that lose their connection and are soon back on another one.
@Suite("The source clock after a reconnection")
struct ReconnectionTests {
    private static let both: [TrackKind: (timeBase: TimeBase, bits: Int?)] = [
        .video: (.milliseconds, 32), .audio: (.milliseconds, 32),
    ]

    private func stamp(_ track: TrackKind, _ dts: Int64) -> SourceClock.Stamp {
        SourceClock.Stamp(track, dts: dts, duration: 40)
    }

    private func at(_ time: Int64) -> MonotonicInstant { MonotonicInstant(time, in: .milliseconds) }

    /// Feeds both tracks with the timestamps in `stamps`, every 40 ms. Each packet arrives when its timestamp plus `delay`
    /// is reached, but not before `earliest`. Returns the times on the timeline by timestamp, in milliseconds; the
    /// tracks must not differ.
    @discardableResult
    private func feed(
        _ clock: inout SourceClock, _ stamps: Range<Int64>, delay: Int64 = 0, earliest: Int64 = 0,
        jitter: () -> Int64 = { 0 }
    ) throws -> [Int64: Double] {
        var times: [Int64: Double] = [:]
        for dts in stride(from: stamps.lowerBound, to: stamps.upperBound, by: 40) {
            let arrival = max(dts + delay + jitter(), earliest)
            let video = clock.note(stamp(.video, dts), arrival: at(arrival))
            let audio = clock.note(stamp(.audio, dts), arrival: at(arrival))
            #expect(video?.time == audio?.time, "audio and video of \(dts) ms stay together")
            times[dts] = Double(try #require(video).time.nanoseconds) / 1e6
        }
        return times
    }

    private func due(_ clock: SourceClock, _ time: Double) throws -> Double {
        let due = clock.due(Timestamp(nanoseconds: Int64(time * 1e6)), of: .video)
        return Double(try #require(due).nanoseconds) / 1e6
    }

    @Test(
        "If a sender sends what it could not send before, its media is due when it would have been without the break",
        arguments: [0, 100, 199] as [Int64])
    func resumes(gap: Int64) throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        let before = try feed(&clock, 0..<5000)
        let end = try due(clock, try #require(before[4960]))
        #expect(clock.reconnect(with: stamp(.video, 5000), at: at(5000 + gap)) == .sameTimestamps)
        let after = try feed(&clock, 5000..<9000, earliest: 5000 + gap)
        #expect(clock.isPlaced && clock.status.steps == 0 && clock.status.jumps == 0)
        #expect(clock.status.latePackets == 0)
        #expect(after[5000] == before[4960].map { $0 + 40 })
        #expect(abs(try due(clock, try #require(after[5000])) - end - 40) < 1)
    }

    @Test("Packets that both connections deliver get the same times twice, and what follows gets its own")
    func repeats() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        let before = try feed(&clock, 0..<5000)
        #expect(clock.reconnect(with: stamp(.audio, 4880), at: at(5050)) == .sameTimestamps)
        let after = try feed(&clock, 4880..<6000, earliest: 5050)
        for dts in [4880, 4920, 4960] as [Int64] { #expect(after[dts] == before[dts]) }
        #expect(after[5000] == before[4960].map { $0 + 40 })
        #expect(clock.status.steps == 0 && clock.status.jumps == 0)
    }

    @Test("A sender whose timestamps begin again is due as long after its arrival as before, at once")
    func beginsAgain() throws {
        for round in 0..<40 {
            var random = SeededRandom("beginning again \(round)")
            var clock = SourceClock(.rtmp, tracks: Self.both)
            let jitter = { Int64.random(in: 0...20, using: &random) }
            try feed(&clock, 0..<8000, jitter: jitter)
            let start = 8000 + Int64.random(in: 40...3000, using: &random)
            #expect(clock.reconnect(with: stamp(.video, 0), at: at(start)) == .otherTimestamps)
            let after = try feed(&clock, 0..<4000, delay: start, jitter: jitter)
            #expect(clock.isPlaced && clock.status.jumps == 0)
            for dts in [0, 3960] as [Int64] {
                let buffer = try due(clock, try #require(after[dts])) - Double(start + dts)
                #expect((160..<290).contains(buffer), "round \(round), \(dts) ms: \(buffer)")
            }
        }
    }

    @Test("If a server first sends the media since its last keyframe, a source is shown no later than before")
    func burst() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        try feed(&clock, 0..<5000)
        // The timestamps begin at 0, and the first 1.2 s of media arrive at once.
        #expect(clock.reconnect(with: stamp(.audio, 0), at: at(5300)) == .otherTimestamps)
        let after = try feed(&clock, 0..<4000, delay: 4100, earliest: 5300)
        #expect(clock.isPlaced && clock.status.steps == 1)
        #expect(abs(try due(clock, try #require(after[3960])) - (3960 + 4100 + 200)) < 45)
    }

    @Test("Packets that waited while libavformat probed the input do not enlarge the buffer")
    func probing() throws {
        var clock = SourceClock(.transportStream, tracks: Self.both)
        try feed(&clock, 0..<5000)
        let before = clock.status.bufferMilliseconds
        #expect(clock.reconnect(with: stamp(.video, 5000), at: at(5500)) == .sameTimestamps)
        try feed(&clock, 5000..<9000, earliest: 5500)
        #expect(clock.status.steps == 0 && abs(clock.status.bufferMilliseconds - before) < 1)
    }

    @Test("After a long break, and before there is a mapping, the clock must be restarted")
    func tooLate() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        try feed(&clock, 0..<200)
        #expect(clock.reconnect(with: stamp(.video, 200), at: at(200)) == .restart)
        try feed(&clock, 200..<5000)
        #expect(clock.reconnect(with: stamp(.video, 5000), at: at(16_000)) == .restart)
        #expect(clock.reconnect(with: stamp(.video, 5000), at: at(14_000)) == .sameTimestamps)
    }

    @Test("A silent track of another sender that begins to send again is reported")
    func silence() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        try feed(&clock, 0..<5000)
        #expect(clock.advance(to: at(7000)) == [.silent(.video), .silent(.audio)])
        #expect(clock.reconnect(with: stamp(.video, 0), at: at(7000)) == .otherTimestamps)
        #expect(clock.note(stamp(.video, 0), arrival: at(7000))?.events == [.resumed(.video)])
        #expect(clock.note(stamp(.audio, 0), arrival: at(7000))?.events == [.resumed(.audio)])
    }

    /// Feeds the segments with these numbers, each of 2 s and at once, when it is complete.
    @discardableResult
    private func feedSegments(_ clock: inout SourceClock, _ numbers: Range<Int64>) throws -> [Int64: Double] {
        var times: [Int64: Double] = [:]
        for number in numbers {
            let new = try feed(&clock, number * 2000..<(number + 1) * 2000, earliest: max(6000, (number + 1) * 2000))
            times.merge(new) { $1 }
        }
        return times
    }

    @Test("Segments of a playlist that are read again keep their times, but not those of an encoder that starts again")
    func playlist() throws {
        var clock = SourceClock(.playlist(target: .seconds(2)), tracks: Self.both)
        let before = try feedSegments(&clock, 0..<10)
        var restarted = clock
        #expect(clock.reconnect(with: stamp(.video, 16_000), at: at(21_000)) == .sameTimestamps)
        let after = try feedSegments(&clock, 8..<14)
        for dts in stride(from: Int64(16_000), to: 20_000, by: 40) { #expect(after[dts] == before[dts]) }
        #expect(after[20_000] == before[19_960].map { $0 + 40 })
        #expect(clock.status.steps == 0 && clock.status.jumps == 0)
        #expect(restarted.reconnect(with: stamp(.video, 0), at: at(21_000)) == .restart)
    }

    @Test("Media that is read again moves nothing, however much later that is", arguments: [6, 7, 9] as [Int64])
    func late(first: Int64) throws {
        var clock = SourceClock(.playlist(target: .seconds(2)), tracks: Self.both)
        let before = try feedSegments(&clock, 0..<10)
        #expect(clock.reconnect(with: stamp(.video, first * 2000), at: at(21_900)) == .sameTimestamps)
        let again = try feed(&clock, first * 2000..<20_000, earliest: 21_900)
        for dts in stride(from: first * 2000, to: 20_000, by: 40) { #expect(again[dts] == before[dts]) }
        try feedSegments(&clock, 10..<14)
        #expect(clock.status.steps == 0 && clock.status.latePackets == 0)
    }

    @Test("A source that can wait continues only if its server may repeat media")
    func canWait() throws {
        var settings = SourceClockSettings.file
        for (repeats, result) in [(0, Reconnection.restart), (4, .sameTimestamps)] {
            settings.repeats = .seconds(repeats)
            var clock = SourceClock(settings, tracks: Self.both)
            let before = try feed(&clock, 0..<8000)
            #expect(clock.reconnect(with: stamp(.video, 6000), at: at(8000)) == result)
            if result == .restart { continue }
            let after = try feed(&clock, 6000..<9000)
            #expect(after[6000] == before[6000] && after[8000] == before[7960].map { $0 + 40 })
            #expect(clock.reconnect(with: stamp(.video, 0), at: at(9000)) == .restart)
        }
    }
}
