// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@Suite("Decoding times of a track's packets")
struct DecodingTimesTests {
    /// The presentation times of frames in the order of decoding, in milliseconds at 25 fps: two B-frames after each
    /// other frame.
    private static let shown: [Int64] = {
        var times: [Int64] = [0]
        for group in Int64(1)..<20 {
            let last = group * 120
            times += [last, last - 80, last - 40]
        }
        return times
    }()

    @Test("Frames that are shown before they are decoded keep their presentation times, and are decoded earlier")
    func negativeOffsets() {
        var times = DecodingTimes(in: .milliseconds)
        for (index, pts) in Self.shown.enumerated() {
            let placed = times.place(pts: pts, dts: Int64(index) * 40, duration: 40, delay: 80)
            #expect(placed?.pts == pts)
            #expect(placed.map { $0.dts <= $0.pts && $0.dts >= Int64(index) * 40 - 80 } == true, "frame \(index)")
        }
    }

    @Test("Frames whose first decoding times are missing are decoded at even intervals, none after it is shown")
    func missingAtStart() {
        var times = DecodingTimes(in: .milliseconds)
        for (index, pts) in Self.shown.enumerated() {
            let dts = Int64(index) * 40 - 80
            let placed = times.place(pts: pts, dts: index < 2 ? nil : dts, duration: 40, delay: 80)
            #expect(placed?.pts == pts && placed?.dts == dts, "frame \(index)")
        }
    }

    @Test("A packet without times is placed after the previous packet; the first packet then gets no time")
    func noTimes() {
        var times = DecodingTimes(in: .milliseconds)
        let first = times.place(pts: nil, dts: nil, duration: 40, delay: 0)
        #expect(first == nil)
        let second = times.place(pts: 1000, dts: nil, duration: 40, delay: 0)
        #expect(second?.pts == 1000 && second?.dts == 1000)
        let third = times.place(pts: nil, dts: nil, duration: 40, delay: 0)
        #expect(third?.pts == 1040 && third?.dts == 1040)
    }

    @Test("A packet without a decoding time gets the previous packet's end, or its presentation time if earlier")
    func missing() {
        #expect(DecodingTimes.missing(pts: nil, end: nil, in: .mpegTS) == nil)
        #expect(DecodingTimes.missing(pts: 97_200, end: 93_600, in: .mpegTS) == 93_600)
        #expect(DecodingTimes.missing(pts: nil, end: 93_600, in: .mpegTS) == 93_600)
        #expect(DecodingTimes.missing(pts: 126_000, end: nil, in: .mpegTS) == 126_000)
        #expect(DecodingTimes.missing(pts: 126_000, end: 1_200_000, in: .mpegTS) == 126_000)
    }
}
