// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import SourceClock

@Suite("Smoothing of a sender's timestamps")
struct SenderTimelineTests {
    private static let millisecond: Int64 = 1_000_000
    private static let delay = 1000 * millisecond

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
                stamp, arrival: sent * Self.millisecond + Self.delay, floor: Self.delay, isCollecting: false)
            return place.map { $0.decode / Self.millisecond }
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
}
