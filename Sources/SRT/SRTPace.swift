// SPDX-License-Identifier: Apache-2.0

/// Spreads the source times of one frame's messages evenly over a part of the frame interval.
///
/// A receiver plays messages out at the intervals of their source times, whatever the network did to them, so the frame
/// reaches the decoder evenly and not in a burst. This needs no timer: the library sends at its own pace, `SRTO_MAXBW`.
/// All times are microseconds.
package struct SRTPace {
    private var end: Int64 = 0
    private var last: Int64 = 0

    /// Starts without a time.
    package init() {}

    /// The newest source time.
    package var newest: Int64 { last }

    /// Spreads the following messages over `spread` from `now` on; 0 for no spreading.
    package mutating func begin(at now: Int64, spread: Int64) { end = now + spread }

    /// The source time of the next of `remaining` messages. It is never before an earlier one, nor before `now`.
    package mutating func next(at now: Int64, remaining: Int) -> Int64 {
        let start = max(now, last)
        last = start
        let time = start
        if end > start, remaining > 1 { last += (end - start) / Int64(remaining) }
        return time
    }
}
