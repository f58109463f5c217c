// SPDX-License-Identifier: Apache-2.0

package import Media

/// Which program frame each frame of a source becomes.
///
/// A frame becomes the program frame nearest to its time, so that frames of two sources that are shown together are of one
/// moment to within half a frame. Stamps that are rounded to milliseconds, or a phase near the edge, make no frame come
/// twice and the next one fall away: a frame follows the one before a little beyond the edge, and where the source's rate is
/// the program's, or a whole part of it, times are smoothed. Of another rate each frame has a phase of its own: smoothed times
/// would lag behind it. A reference's frames follow for longer, because the program's clock comes to them.
package struct FrameSlots: Sendable {
    /// How far a frame may be from the slot behind the last one, in thousandths of a frame; one of the reference; and the first
    /// of a new one, whose phase the program's clock measures to the nearest slot.
    private static let reach: Int64 = 530
    private static let reachOfReference: Int64 = 900
    private static let reachOfFirst: Int64 = 500
    /// How many frames' times are smoothed, and by how much the smoothed time may differ from a frame's own, in thousandths of
    /// a frame.
    private static let (memory, slack): (Int64, Int64) = (16, 100)
    /// By how much the phase may change from frame to frame, in the mean and in nanoseconds, if the rate is to be the program's:
    /// 29.97 in 30 is 0.03 ms, 24 in 25 is 1.7 ms.
    private static let steadiest: Int64 = 500_000

    private let frameRate: FrameRate
    private let length: Int64
    private var last: FrameIndex?
    /// How far the next frame is expected from the slot behind the last one, in nanoseconds.
    private var expected: Int64?
    /// The same as the frame's own time has it.
    private var former: Int64?
    /// By how much the phase changes from frame to frame in the mean of so many, in nanoseconds.
    private var change: Int64 = 0
    private var noted: Int64 = 0

    /// Whether the program's clock follows this source.
    package var isReference = false {
        didSet { if isReference, !oldValue { isNewReference = true } }
    }
    /// Whether none of its frames was placed since it is the reference.
    private var isNewReference = false

    /// Program frames in which no frame of the source lay.
    package private(set) var repeated = 0
    /// Frames of the source that fell on a program frame that was taken.
    package private(set) var dropped = 0

    /// No frame seen yet, in a program of `frameRate`.
    package init(frameRate: FrameRate) {
        self.frameRate = frameRate
        length = frameRate.timeBase.rescale(1, to: .nanoseconds)
    }

    /// The program frame for a frame that is due at `position` of the program's time; nil if it is to be dropped.
    /// Frames come in the order in which they are shown.
    package mutating func take(_ position: Timestamp) -> FrameIndex? {
        guard let last else {
            (self.last, isNewReference) = (frameRate.frame(at: position), false)
            return self.last
        }
        let next = last + 1
        let own = (position - frameRate.start(of: next)).inNanoseconds
        note(own)
        let off = smoothed(own)
        let reach = isNewReference ? Self.reachOfFirst : isReference ? Self.reachOfReference : Self.reach
        let isNext = off.magnitude <= UInt64(length * reach / 1000)
        let slot = isNext ? next : frameRate.frame(at: frameRate.start(of: next) + .nanoseconds(off))
        let taken = max(slot, last)
        let passed = (taken - next) * length
        (expected, former) = (off - passed, own - passed)
        guard slot > last else {
            dropped += 1
            return nil
        }
        repeated += Int(slot - last) - 1
        (self.last, isNewReference) = (slot, false)
        return slot
    }

    /// Learns from a frame that is `own` from the slot behind the last one how the phase changes.
    private mutating func note(_ own: Int64) {
        guard let former else { return }
        noted = min(noted + 1, Self.memory)
        change = phase(change + phase(own - former - change) / noted)
    }

    /// Returns `time` without whole frames of the program: from half a frame before one to half a frame behind it.
    private func phase(_ time: Int64) -> Int64 {
        time - (time + (time < 0 ? -length : length) / 2) / length * length
    }

    /// How far a frame is from the slot behind the last one, without the jitter of its stamp, which says `off`.
    private func smoothed(_ off: Int64) -> Int64 {
        guard let expected, !isReference, change.magnitude <= UInt64(Self.steadiest) else { return off }
        let slack = length * Self.slack / 1000
        let jitter = phase(off - expected)
        return min(off + slack, max(off - slack, off - jitter + jitter / Self.memory))
    }

    /// Forgets the slot of the last frame: the source begins again, and the slots in between do not count as
    /// repetitions.
    package mutating func restart() {
        (last, expected, former) = (nil, nil, nil)
        (change, noted) = (0, 0)
    }
}
