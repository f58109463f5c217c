// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The position of a run-down: a segment, and when it began.
///
/// The beginning is stored as a frame and the exact time since that frame, so that rounding errors of lengths that are
/// no integral number of frames do not accumulate: after hours of segments of 5 s at 29.97 frames a second each segment
/// begins at the frame nearest to its time.
struct RunDownPlace: Sendable, Equatable {
    var segment: Int
    /// How often the run-down has reached its end before.
    var pass: Int64 = 0
    /// The first frame, or a later one at which something began that could not be scheduled in advance.
    var anchor: FrameIndex
    /// The time from the anchor to the segment's beginning.
    var offset = Duration.zero
    var clip: RunDownPlayer.ClipID?
    /// The segment's view that was on air before the segment began; nil if none was.
    var seen: Int?

    func start(at rate: FrameRate) -> FrameIndex { anchor + rate.timeBase.ticks(offset) }

    /// The first frame after `length`; nil if time alone does not determine it.
    func end(after length: RunDown.Length, at rate: FrameRate) -> FrameIndex? {
        switch length {
        case .time(let duration): max(start(at: rate) + 1, anchor + rate.timeBase.ticks(offset + duration))
        case .frames(let count): start(at: rate) + max(1, count)
        case .end, .take: nil
        }
    }

    /// The beginning of the next segment; `end` is the frame at which the segment of `length` ends.
    func following(_ length: RunDown.Length, end: FrameIndex, at rate: FrameRate) -> (anchor: FrameIndex, Duration) {
        switch length {
        case .time(let duration) where anchor + rate.timeBase.ticks(offset + duration) == end:
            (anchor, offset + duration)
        case .frames(let count): (anchor + max(1, count), offset)
        default: (end, .zero)
        }
    }

    /// The number of views of `every` before the view that is due at `frame`.
    func views(before frame: FrameIndex, every: Duration, at rate: FrameRate) -> Int64 {
        let begin = { (index: Int64) in anchor + rate.timeBase.ticks(offset + every * Int(index)) }
        let elapsed = rate.timeBase.rescale(frame - anchor, to: .nanoseconds) - offset.inNanoseconds
        var index = max(0, elapsed / max(1, every.inNanoseconds))
        while begin(index + 1) <= frame { index += 1 }
        while index > 0, begin(index) > frame { index -= 1 }
        return index
    }
}
