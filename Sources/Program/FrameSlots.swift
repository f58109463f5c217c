// SPDX-License-Identifier: Apache-2.0

package import Media

/// Which program frame each frame of a source becomes.
///
/// A frame becomes the program frame nearest to its time, so that frames of two sources that are shown together are of one
/// moment to within half a frame. Stamps that are rounded to milliseconds, or a phase near the edge, make no frame come
/// twice and the next one fall away: times are smoothed, and a frame follows the one before a little beyond the edge. A
/// reference's frames follow for longer, because the program's clock comes to them.
package struct FrameSlots: Sendable {
    /// How far a frame may be from the slot behind the last one, in thousandths of a frame; and one of the reference.
    private static let reach: Int64 = 530
    private static let reachOfReference: Int64 = 900
    /// How many frames' times are smoothed, and by how much the smoothed time may differ from a frame's own, in thousandths of
    /// a frame: another frame rate is no jitter.
    private static let (memory, slack): (Int64, Int64) = (16, 100)

    private let frameRate: FrameRate
    private let length: Int64
    private var last: FrameIndex?
    /// How far the next frame is expected from the slot behind the last one, in nanoseconds.
    private var expected: Int64?

    /// Whether the program's clock follows this source.
    package var isReference = false

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
            self.last = frameRate.frame(at: position)
            return self.last
        }
        let next = last + 1
        let off = smoothed((position - frameRate.start(of: next)).inNanoseconds)
        let reach = isReference ? Self.reachOfReference : Self.reach
        let isNext = off.magnitude <= UInt64(length * reach / 1000)
        let slot = isNext ? next : frameRate.frame(at: frameRate.start(of: next) + .nanoseconds(off))
        let taken = max(slot, last)
        expected = off - (taken - next) * length
        guard slot > last else {
            dropped += 1
            return nil
        }
        repeated += Int(slot - last) - 1
        self.last = slot
        return slot
    }

    /// How far a frame is from the slot behind the last one, without the jitter of its stamp, which says `off`.
    private func smoothed(_ off: Int64) -> Int64 {
        guard let expected, !isReference else { return off }
        let slack = length * Self.slack / 1000
        return min(off + slack, max(off - slack, expected + (off - expected) / Self.memory))
    }

    /// Forgets where the last frame lay: the source begins anew, and what lies between is no repetition.
    package mutating func restart() { (last, expected) = (nil, nil) }
}
