// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Smoothing of a sender's timestamps")
struct SenderTimelineTests {
    private static let millisecond: Int64 = 1_000_000
    private static let delay = Duration.seconds(1)

    /// The decoding times, in milliseconds, of 300 packets every `interval` ms, of which those at `outliers` are off by
    /// `error` ms.
    private func times(interval: Int64, duration: Int64, outliers: Set<Int64>, error: Int64) -> [Int64] {
        var timeline = SenderTimeline()
        timeline.declare(.video, StampTrack(timeBase: .milliseconds, bits: 32))
        return (0..<300).compactMap { (index: Int64) -> Int64? in
            let sent = 10_000 + index * interval
            let stamp = SourceClock.Stamp(
                .video, dts: sent + (outliers.contains(index) ? error : 0), duration: duration)
            let place = timeline.place(
                stamp, arrival: .zero + .milliseconds(sent) + Self.delay, floor: Self.delay, isCollecting: false)
            return place.map { $0.decode.nanoseconds / Self.millisecond }
        }
    }

    @Test(
        "A few wrong timestamps do not move later packets, whether or not the sender gives durations",
        arguments: [20, 33, 40, 200] as [Int64], [false, true])
    func outliers(interval: Int64, hasDurations: Bool) {
        for error in [-5430, -1500, 1500, 5430] as [Int64] {
            let found = times(
                interval: interval, duration: hasDurations ? interval : 0, outliers: [50, 120, 121, 200], error: error)
            #expect(found.count == 300)
            #expect(found.last == 10_000 + 299 * interval, "error \(error)")
        }
    }

    private static let sizes: [Int64] = [100, 150, 250, 300, 400, 700, 1000, 1500, 1990, 2500, 5430, 9990]
    private static let paths: [SenderModel.Jitter] = [.none, .gauss(milliseconds: 5), .wifi]

    /// The largest error of audio against video, in milliseconds, of the packets that come after the last wrong
    /// timestamp of `model` by half a second.
    private func errorAfterwards(
        _ model: SenderModel, _ settings: SourceClockSettings, hasDurations: Bool, _ random: SeededRandom
    ) throws -> Double {
        let outlier = try #require(model.outlier)
        var clock = SourceClock(settings, tracks: [.video: (.mpegTS, nil), .audio: (.mpegTS, nil)])
        var packets = SenderPackets(model, random: random)
        var (shifts, counts): ([TrackKind: Duration], [TrackKind: Int64]) = ([:], [:])
        var (end, worst): (MonotonicInstant?, Duration) = (nil, .zero)
        while let packet = packets.next() {
            let track = packet.stamp.track
            var stamp = packet.stamp
            if track == .video, !hasDurations { stamp.duration = 0 }
            let noted = clock.note(stamp, arrival: packet.arrival)
            shifts[track] = Duration.zero - packet.captured.delay(of: try #require(noted).time)
            counts[track, default: 0] += 1
            if track == outlier.track, counts[track] == outlier.first + outlier.count { end = packet.arrival }
            guard let end, packet.arrival > end + .milliseconds(500), let video = shifts[.video],
                let audio = shifts[.audio]
            else { continue }
            worst = max(worst, (audio - video).magnitude)
        }
        return worst.inSeconds * 1000
    }

    @Test(
        "Wrong timestamps of 0.1 to 10 s at any time from the first packet on leave audio and video in sync",
        arguments: TrackKind.timed, [SourceClockSettings.rtmp, .rtp, .transportStream, .file])
    func earlyOutliers(track: TrackKind, settings: SourceClockSettings) throws {
        var random = SeededRandom("outliers \(track) \(settings.collecting)")
        for first in [0, 1, 2, 3, 6, 11, 19, 24, 30, 60] as [Int64] {
            for size in Self.sizes {
                var model = SenderModel()
                model.duration = .seconds(4)
                model.jitter = random.pick(Self.paths)
                model.audioBundle = random.pick([1, 9])
                let hasDurations = random.pick([true, false])
                // If the first two timestamps are equally wrong, the sender has jumped.
                let count = first == 0 ? 1 : Int64.random(in: 1...3, using: &random)
                for sign in [1, -1] as [Int64] {
                    model.outlier = .init(track: track, first: first, count: count, by: .milliseconds(sign * size))
                    let error = try errorAfterwards(model, settings, hasDurations: hasDurations, random)
                    #expect(error < 5, "\(sign * size) ms at \(count) packets from \(first) on: \(model)")
                }
            }
        }
    }

    @Test("A sender whose timestamps jump early and stay there has jumped", arguments: [-5430, -1500, 5430] as [Int64])
    func earlyJump(distance: Int64) throws {
        var model = SenderModel()
        model.duration = .seconds(4)
        model.jumps = [.init(at: 400_000_000, by: .milliseconds(distance))]
        var clock = SourceClock(.rtp, tracks: [.video: (.mpegTS, nil), .audio: (.mpegTS, nil)])
        var packets = SenderPackets(model, random: SeededRandom("early jump"))
        var shifts: [TrackKind: Duration] = [:]
        while let packet = packets.next() {
            let noted = clock.note(packet.stamp, arrival: packet.arrival)
            shifts[packet.stamp.track] = Duration.zero - packet.captured.delay(of: try #require(noted).time)
        }
        #expect(clock.status.jumps == 1 && clock.status.loneJumps == 0)
        let (video, audio) = (try #require(shifts[.video]), try #require(shifts[.audio]))
        #expect((audio - video).magnitude < .milliseconds(1))
        #expect((video - model.start).magnitude < .milliseconds(50), "the jump is closed")
    }
}
