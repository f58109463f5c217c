// SPDX-License-Identifier: Apache-2.0

package import Media

/// Which program frame each frame of a source becomes.
///
/// A frame becomes the program frame nearest to its time, but it follows the one before as long as it is no more than
/// 0.65 of a frame off: stamps that are rounded to milliseconds, or a phase near the edge, make no frame come twice and
/// the next one fall away. A reference's frames follow for longer, because the program's clock comes to them.
package struct FrameSlots: Sendable {
    /// How far a frame may be from the slot behind the last one, in thousandths of a frame; and one of the reference.
    private static let reach: Int64 = 650
    private static let reachOfReference: Int64 = 900

    private let frameRate: FrameRate
    private let length: Int64
    private var last: FrameIndex?

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
        var slot = last + 1
        let off = position - frameRate.start(of: slot)
        let reach = isReference ? Self.reachOfReference : Self.reach
        if off.inNanoseconds.magnitude > UInt64(length * reach / 1000) { slot = frameRate.frame(at: position) }
        guard slot > last else {
            dropped += 1
            return nil
        }
        repeated += Int(slot - last) - 1
        self.last = slot
        return slot
    }

    /// Forgets where the last frame lay: the source begins anew, and what lies between is no repetition.
    package mutating func restart() { last = nil }
}
