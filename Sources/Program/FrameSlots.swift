// SPDX-License-Identifier: Apache-2.0

package import Media

/// Assigns each frame of a source to a program frame, called its slot.
///
/// A frame is assigned to the program frame that is nearest to its time, so that frames of two sources that are shown
/// together are simultaneous to within half a frame. If timestamps are rounded to milliseconds, or frames fall near the
/// middle between two program frames, one frame must not be repeated and the next dropped. Therefore a frame may follow
/// the previous one even if it is a little beyond the middle. Besides, times are smoothed if the source's rate is the
/// program's rate or an integer fraction of it. At other rates each frame has its own phase, and smoothed times would
/// lag behind it. The frames of the reference source may be further away, because the program's clock moves towards
/// them.
package struct FrameSlots: Sendable {
    /// The maximum distance of a frame from the slot after the last one, in thousandths of a frame. The first number
    /// applies to any source, and the second to the reference source. The third applies to the first frame of a new
    /// reference source, whose phase the program's clock measures relative to the nearest slot.
    private static let reach: Int64 = 530
    private static let reachOfReference: Int64 = 900
    private static let reachOfFirst: Int64 = 500
    /// The number of frames over which times are smoothed, and the maximum distance of a smoothed time from the frame's
    /// own time, in thousandths of a frame.
    private static let (memory, slack): (Int64, Int64) = (16, 100)
    /// If the mean change of the phase from frame to frame is less than this, in nanoseconds, the source has the
    /// program's rate: 29.97 on 30 changes by 0.03 ms, 24 on 25 by 1.7 ms.
    private static let steadiest: Int64 = 500_000

    private let frameRate: FrameRate
    private let length: Int64
    private var last: FrameIndex?
    /// The expected distance of the next frame from the slot after the last one, in nanoseconds.
    private var expected: Int64?
    /// The same distance without smoothing.
    private var former: Int64?
    /// The mean change of the phase from frame to frame, in nanoseconds, over at most ``memory`` frames; `noted` counts
    /// them.
    private var change: Int64 = 0
    private var noted: Int64 = 0

    /// Whether the program's clock follows this source.
    package var isReference = false {
        didSet { if isReference, !oldValue { isNewReference = true } }
    }
    /// Whether no frame has been assigned since the source became the reference.
    private var isNewReference = false

    /// The number of program frames without a frame of the source.
    package private(set) var repeated = 0
    /// The number of source frames that were dropped because their program frame already had a frame.
    package private(set) var dropped = 0

    /// Slots for a source that has no frames yet, in a program with the frame rate `frameRate`.
    package init(frameRate: FrameRate) {
        self.frameRate = frameRate
        length = frameRate.timeBase.rescale(1, to: .nanoseconds)
    }

    /// Returns the program frame for a frame that is due at `position` in program time; nil if it must be dropped.
    /// Frames come in presentation order.
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

    /// Measures how the phase changes. `own` is the distance of a frame from the slot after the last one, in
    /// nanoseconds.
    private mutating func note(_ own: Int64) {
        guard let former else { return }
        noted = min(noted + 1, Self.memory)
        change = phase(change + phase(own - former - change) / noted)
    }

    /// Returns `time` modulo the frame duration: from minus half a frame to plus half a frame.
    private func phase(_ time: Int64) -> Int64 { time - (time + (time < 0 ? -length : length) / 2) / length * length }

    /// Returns a frame's distance from the slot after the last one, without the jitter of its timestamp; `off` is the
    /// distance with jitter.
    private func smoothed(_ off: Int64) -> Int64 {
        guard let expected, !isReference, change.magnitude <= UInt64(Self.steadiest) else { return off }
        let slack = length * Self.slack / 1000
        let jitter = phase(off - expected)
        return min(off + slack, max(off - slack, off - jitter + jitter / Self.memory))
    }

    /// Forgets the slot of the last frame, because the source starts again. The slots in between do not count as
    /// repeated.
    package mutating func restart() {
        (last, expected, former) = (nil, nil, nil)
        (change, noted) = (0, 0)
    }
}
