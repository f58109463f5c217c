// SPDX-License-Identifier: Apache-2.0

import Media
import Program
import TestSupport
import Testing

@Suite("Assignment of source frames to the program's frames")
struct FrameSlotsTests {
    /// Returns the program frames for frames that are due at these times, in microseconds, and the counts of repeated
    /// and dropped ones.
    private func take(
        _ times: [Int64], _ frameRate: FrameRate = FrameRate(25)
    ) -> (frames: [Int64?], repeated: Int, dropped: Int) {
        var slots = FrameSlots(frameRate: frameRate)
        let frames = times.map { slots.take(ProgramInstant(nanoseconds: $0 * 1000))?.number }
        return (frames, slots.repeated, slots.dropped)
    }

    @Test(
        "Source frames near the boundary of two program frames are neither repeated nor dropped",
        arguments: [0, 1, 2])
    func edge(shift: Int64) {
        let rate = FrameRate(30000, 1001)
        let times = (0..<3000).map { index in
            (rate.timeBase.rescale(Int64(index), to: .milliseconds) + 16 + shift) * 1000
        }
        let taken = take(times, rate)
        #expect(taken.repeated == 0)
        #expect(taken.dropped == 0)
    }

    @Test("If a source is slower or faster than the program, one frame is repeated or dropped per frame of drift")
    func drift() {
        let slow = take((0..<5000).map { $0 * 40_020 })
        #expect((2...3).contains(slow.repeated))
        #expect(slow.dropped == 0)
        let fast = take((0..<5000).map { $0 * 39_980 })
        #expect((2...3).contains(fast.dropped))
        #expect(fast.repeated == 0)
    }

    @Test(
        "Each frame of a drifting source is shown within half a frame of its time",
        arguments: [25, 30, 60] as [Int32], [-200, 200] as [Int64])
    func nearest(framesPerSecond: Int32, drift: Int64) {
        let rate = FrameRate(framesPerSecond)
        let length: Int64 = rate.timeBase.rescale(1, to: TimeBase.nanoseconds)
        var slots = FrameSlots(frameRate: rate)
        var random = SeededRandom()
        var slips: [Int] = []
        for index in 0..<40_000 {
            let sent: Int64 = rate.timeBase.rescale(Int64(index), to: TimeBase.nanoseconds)
            let due = sent + sent * drift / 1_000_000
            // The timestamp is rounded to milliseconds, after a jitter of half a millisecond was added.
            let stamp = (due + Int64.random(in: -500_000...500_000, using: &random)) / 1_000_000 * 1_000_000
            let before = slots.repeated + slots.dropped
            let slot = slots.take(ProgramInstant(nanoseconds: stamp))
            if slots.repeated + slots.dropped > before { slips.append(index) }
            guard let slot else { continue }
            let off = due - rate.start(of: slot).nanoseconds
            #expect(off.magnitude <= UInt64(length * 55 / 100 + 500_000), "frame \(index)")
        }
        // 40000 frames drift by 8 frames on the program's clock.
        #expect((7...8).contains(slips.count) && slots.repeated == (drift > 0 ? slips.count : 0), "\(slips)")
        #expect(slots.dropped == (drift < 0 ? slips.count : 0))
    }

    @Test(
        "Each frame of a source with another frame rate is shown within half a frame of its time",
        arguments: [
            (FrameRate(25), FrameRate(30)), (FrameRate(24), FrameRate(25)), (FrameRate(50), FrameRate(30)),
            (FrameRate(30000, 1001), FrameRate(30)), (FrameRate(60), FrameRate(30)), (FrameRate(15), FrameRate(30)),
            (FrameRate(20), FrameRate(30)), (FrameRate(30), FrameRate(25)),
        ])
    func otherRate(source: FrameRate, program: FrameRate) {
        let length: Int64 = program.timeBase.rescale(1, to: TimeBase.nanoseconds)
        for shift in Int64(0)..<40 {
            var slots = FrameSlots(frameRate: program)
            var furthest: UInt64 = 0
            for index in Int64(0)..<300 {
                let due = source.timeBase.rescale(index, to: TimeBase.nanoseconds) + shift * 1_000_000
                let stamp = (due + 500_000) / 1_000_000 * 1_000_000
                guard let slot = slots.take(ProgramInstant(nanoseconds: stamp)) else { continue }
                furthest = max(furthest, (due - program.start(of: slot).nanoseconds).magnitude)
            }
            // A frame may be 53 % of a program frame away from its slot; the rounding of a timestamp is added.
            #expect(furthest <= UInt64(length * 53 / 100 + 1_000_000), "\(shift) ms")
        }
    }

    @Test("While the program's clock approaches a reference source, each source frame has its own program frame")
    func reference() {
        var slots = FrameSlots(frameRate: FrameRate(25))
        slots.isReference = true
        let times = [0] + (1..<100).map { index in Int64(index) * 40_000 + 35_000 }
        for time in times { _ = slots.take(ProgramInstant(nanoseconds: time * 1000)) }
        #expect(slots.repeated + slots.dropped == 0)
        let later = slots.take(ProgramInstant(nanoseconds: 4_080_000_000))
        #expect(later == 102)
    }

    @Test("A lost frame causes one repetition; a duplicate frame, or one with an earlier time, is dropped")
    func holes() {
        let lost = take([0, 40_000, 120_000, 160_000])
        #expect(lost.frames == [0, 1, 3, 4])
        #expect(lost.repeated == 1)
        let doubled = take([0, 40_000, 40_000, 20_000, 80_000])
        #expect(doubled.frames == [0, 1, nil, nil, 2])
        #expect(doubled.dropped == 2)
    }

    @Test("No frame of a source that restarts is repeated")
    func restart() {
        var slots = FrameSlots(frameRate: FrameRate(25))
        _ = slots.take(.zero)
        slots.restart()
        let slot = slots.take(ProgramInstant(nanoseconds: 10_000_000_000))
        #expect(slot == 250)
        #expect(slots.repeated == 0)
    }

    // Regression: a new reference source kept the slots that it had beside the previous reference, up to a frame away
    // from its times, and half a minute later one of its frames was repeated.
    @Test("The frames of a new reference source are shown in the nearest program frames from the first one on")
    func newReference() {
        var slots = FrameSlots(frameRate: FrameRate(25))
        for index in 0..<10 { _ = slots.take(ProgramInstant(nanoseconds: (Int64(index) * 100 - 90) * 400_000)) }
        slots.isReference = true
        let taken = (10..<13).map { slots.take(ProgramInstant(nanoseconds: (Int64($0) * 100 - 45) * 400_000))?.number }
        #expect(taken == [10, 11, 12])
    }
}
