// SPDX-License-Identifier: Apache-2.0

/// Gives the messages of one frame their source times, evenly over a part of the frame interval.
///
/// A receiver plays messages out at the distances of their source times, whatever the network did to them, so a frame
/// that is marked so reaches the decoder evenly and not in one burst. It costs no timer: the library sends at its own
/// pace, `SRTO_MAXBW`. All times are microseconds.
package struct SRTPace {
    private var end: Int64 = 0
    private var last: Int64 = 0

    /// No time has been given yet.
    package init() {}

    /// The newest time given so far.
    package var newest: Int64 { last }

    /// The messages that follow are to leave within `spread` from `now` on; 0 for at once.
    package mutating func begin(at now: Int64, spread: Int64) { end = now + spread }

    /// The time of the next of `remaining` messages. Never before an earlier one, and never before `now`.
    package mutating func next(at now: Int64, remaining: Int) -> Int64 {
        let start = max(now, last)
        last = start
        let time = start
        if end > start, remaining > 1 { last += (end - start) / Int64(remaining) }
        return time
    }
}
