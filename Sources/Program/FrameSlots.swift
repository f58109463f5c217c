// SPDX-License-Identifier: Apache-2.0

package import Media

/// Assigns each frame of a source to a program frame. This program frame is called the slot of the source's frame.
///
/// A frame is assigned to the program frame that is nearest to its time. So frames of two sources that are shown
/// together differ by at most half a frame. But if timestamps are rounded to milliseconds, or if frames fall near the
/// middle between two program frames, this alone would repeat one frame and drop the next. Two rules prevent this.
/// First, a frame is assigned to the slot after the last one even if it is a little more than half a frame away.
/// Second, times are smoothed if the source's frame rate is the program's rate or an integer fraction of it. (At other
/// rates each frame has another distance from its slot, and smoothed times would be wrong.) For the reference source,
/// which the program's clock follows, the permitted distance is larger, because the clock moves towards that source's
/// frames.
package struct FrameSlots: Sendable {
    /// A frame can be assigned to the slot after the last one if its distance from that slot is at most this much, in
    /// thousandths of a frame: `reach` for ordinary sources, `reachOfReference` for the reference source.
    /// `reachOfFirst` is for the first frame of a new reference source: the program's clock measures the distance of
    /// this frame from the nearest slot.
    private static let reach: Int64 = 530
    private static let reachOfReference: Int64 = 900
    private static let reachOfFirst: Int64 = 500
    /// `memory` is the number of frames over which times are smoothed. `slack` is by how much a smoothed time may
    /// differ from the frame's own time, in thousandths of a frame.
    private static let (memory, slack): (Int64, Int64) = (16, 100)
    /// The phase is the distance of a frame from the nearest program frame. If its mean change from frame to frame is
    /// at most this many nanoseconds, the source has the program's rate or an integer fraction of it. For 29.97 fps in
    /// a program of 30 fps the phase changes by 0.03 ms, for 24 fps in a program of 25 fps by 1.7 ms.
    private static let steadiest: Int64 = 500_000

    private let frameRate: FrameRate
    private let length: Int64
    private var last: FrameIndex?
    /// The smoothed distance that the next frame is expected to have from the slot after the last one, in nanoseconds.
    private var expected: Int64?
    /// The same distance as `expected`, but without smoothing, in nanoseconds.
    private var former: Int64?
    /// The mean change of the phase from frame to frame, in nanoseconds. `noted` is the number of frames in this mean,
    /// at most ``memory``.
    private var change: Int64 = 0
    private var noted: Int64 = 0

    /// Whether this source is the reference, which the program's clock follows.
    package var isReference = false {
        didSet { if isReference, !oldValue { isNewReference = true } }
    }
    /// Whether no frame has been assigned since the source became the reference.
    private var isNewReference = false

    /// The number of program frames to which no frame of the source was assigned.
    package private(set) var repeated = 0
    /// The number of the source's frames that were dropped because their program frame already had a frame.
    package private(set) var dropped = 0

    /// Creates the slots of a source that has no frames yet, in a program with the frame rate `frameRate`.
    package init(frameRate: FrameRate) {
        self.frameRate = frameRate
        length = frameRate.timeBase.rescale(1, to: .nanoseconds)
    }

    /// Returns the program frame for a source's frame that is due at `position`; nil if the frame must
    /// be dropped. Must be called for all frames in presentation order.
    package mutating func take(_ position: ProgramInstant) -> FrameIndex? {
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

    /// Updates the mean change of the phase. `own` is the distance of the present frame from the slot after the last
    /// one, in nanoseconds.
    private mutating func note(_ own: Int64) {
        guard let former else { return }
        noted = min(noted + 1, Self.memory)
        change = phase(change + phase(own - former - change) / noted)
    }

    /// Returns `time` modulo the duration of a program frame, as a value between minus half a frame and plus half a
    /// frame.
    private func phase(_ time: Int64) -> Int64 { time - (time + (time < 0 ? -length : length) / 2) / length * length }

    /// Returns a frame's distance from the slot after the last one, in nanoseconds, with the jitter of its timestamp
    /// reduced. `off` is this distance before the jitter is reduced.
    private func smoothed(_ off: Int64) -> Int64 {
        guard let expected, !isReference, change.magnitude <= UInt64(Self.steadiest) else { return off }
        let slack = length * Self.slack / 1000
        let jitter = phase(off - expected)
        return min(off + slack, max(off - slack, off - jitter + jitter / Self.memory))
    }

    /// Forgets the last slot, because the source starts again. The program frames until the source's next frame do not
    /// count as repeated.
    package mutating func restart() {
        (last, expected, former) = (nil, nil, nil)
        (change, noted) = (0, 0)
    }
}
