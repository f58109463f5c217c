// SPDX-License-Identifier: Apache-2.0

import MP4
import TestSupport
import Testing

@testable import Stitcher

/// Where frames in decoding order can be cut. Frames have the times at which they are shown.
@Suite struct FrameCutTests {
    private func samples(_ times: [Int64], keyframes: Set<Int>) -> [IndexedSample] {
        times.enumerated().map { index, time in
            IndexedSample(
                dts: Int64(index), pts: time, duration: 1, offset: 0, size: 1, isSync: keyframes.contains(index))
        }
    }

    /// Two closed GOPs: I P B B.
    private var closed: FrameCut { FrameCut(samples([0, 3, 1, 2, 4, 7, 5, 6], keyframes: [0, 4])) }

    @Test func `A copy begins at a keyframe, at or before a time, or without a frame before the time`() {
        #expect([0, 3, 4, 7, 100].map(closed.entry(before:)) == [0, 0, 4, 4, 4])
        #expect(closed.entry(before: -1) == 0, "no frame is shown that early")
        #expect([0, 1, 4, 5].map(closed.entry(after:)) == [0, 4, 4, 8])
    }

    @Test func `A copy does not begin at a keyframe whose GOP shows frames before it`() {
        let open = FrameCut(samples([0, 3, 1, 2, 6, 4, 5], keyframes: [0, 4]))
        #expect(open.entry(after: 1) == 7 && open.entry(before: 6) == 0)
        // The GOP can be copied behind the one before it.
        #expect(open.end(before: 4, from: 0) == 4)
    }

    @Test func `A copy ends where all frames before the cut are shown before all frames after it`() {
        #expect([1, 2, 4, 5, 6].map { closed.exit(after: $0, from: 0) } == [1, 4, 4, 5, 8])
        #expect(closed.exit(after: 1, from: 4) == 4, "the cut is not before the copy's first frame")
        #expect([0, 3, 4, 5, 7, 8].map { closed.end(before: $0, from: 0) } == [0, 1, 4, 5, 5, 8])
    }

    @Test func `Copied frames before encoded ones do not end with a keyframe`() {
        #expect([1, 4, 5, 8].map { closed.exit(before: $0, from: 0) } == [0, 4, 4, 8])
        #expect(closed.exit(before: 5, from: 4) == 4)
    }

    @Test func `The earliest and the latest time of a range of frames are found; an empty range has neither`() {
        #expect(closed.earliest(1..<4) == 1 && closed.latest(1..<4) == 3)
        #expect(closed.earliest(2..<2) == nil && closed.latest(2..<2) == nil)
    }

    @Test func `At every cut the frames before it are shown before all frames after it, in any decoding order`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let count = Int.random(in: 1...12, using: &random)
            // Frames are decoded at most a few places away from where they are shown.
            var times = (0..<Int64(count)).map { $0 }
            for _ in 0..<count {
                let place = Int.random(in: 0..<count, using: &random)
                times.swapAt(place, min(count - 1, place + Int.random(in: 0...2, using: &random)))
            }
            let cut = FrameCut(samples(times, keyframes: Set((0..<count).filter { _ in Bool.random(using: &random) })))
            for time in -1...Int64(count) {
                let (end, exit) = (cut.end(before: time, from: 0), cut.exit(after: time, from: 0))
                for place in [end, exit, cut.entry(after: time)] {
                    #expect((times[..<place].max() ?? -1) < (times[place...].min() ?? .max), "\(times) at \(place)")
                }
                #expect(times[..<end].allSatisfy { $0 < time } && times[exit...].allSatisfy { $0 >= time })
                #expect(times[cut.entry(after: time)...].allSatisfy { $0 >= time })
            }
        }
    }
}
