// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The position of a run-down: a segment, and when it began.
///
/// The beginning is stored as a frame and the exact time since that frame. Therefore rounding errors do not accumulate
/// if lengths are not a whole number of frames. For example, even after hours of segments of 5 s at 29.97 frames per
/// second, each segment begins at the frame nearest to its time.
struct RunDownPlace: Sendable, Equatable {
    var segment: Int
    /// How many times the run-down has reached its end before.
    var pass: Int64 = 0
    /// The frame from which times are counted: the first frame of the run-down, or a later frame at which a segment
    /// began, if its time was not known in advance.
    var anchor: FrameIndex
    /// The time from the anchor to the segment's beginning.
    var offset = Duration.zero
    var clip: RunDownPlayer.ClipID?
    /// The index of the view of this segment that was on air before the segment began; nil if none of its views was.
    var seen: Int?

    func start(at rate: FrameRate) -> FrameIndex { anchor + rate.timeBase.ticks(offset) }

    /// The first frame after a segment of this `length`; nil if the length is not a time or a number of frames.
    func end(after length: RunDown.Length, at rate: FrameRate) -> FrameIndex? {
        switch length {
        case .time(let duration): max(start(at: rate) + 1, anchor + rate.timeBase.ticks(offset + duration))
        case .frames(let count): start(at: rate) + max(1, count)
        case .end, .take: nil
        }
    }

    /// The beginning of the next segment. `length` is the length of this segment, and `end` the frame at which it ends.
    func following(_ length: RunDown.Length, end: FrameIndex, at rate: FrameRate) -> (anchor: FrameIndex, Duration) {
        switch length {
        case .time(let duration) where anchor + rate.timeBase.ticks(offset + duration) == end:
            (anchor, offset + duration)
        case .frames(let count): (anchor + max(1, count), offset)
        default: (end, .zero)
        }
    }

    /// The number of views that were shown before the view that is due at `frame`. Each view is shown for `every`.
    func views(before frame: FrameIndex, every: Duration, at rate: FrameRate) -> Int64 {
        let begin = { (index: Int64) in anchor + rate.timeBase.ticks(offset + every * Int(index)) }
        let elapsed = (rate.timeBase.duration(frame - anchor) - offset).inNanoseconds
        var index = max(0, elapsed / max(1, every.inNanoseconds))
        while begin(index + 1) <= frame { index += 1 }
        while index > 0, begin(index) > frame { index -= 1 }
        return index
    }
}
