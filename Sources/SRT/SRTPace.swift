// SPDX-License-Identifier: Apache-2.0

/// Spreads the source times of the messages of one frame evenly over a part of the frame interval.
///
/// A receiver outputs messages at the intervals of their source times, regardless of when the network delivered them.
/// The frame therefore reaches the decoder evenly and not in a burst. This needs no timer, because libsrt sends at its
/// own rate, `SRTO_MAXBW`. All times are microseconds.
package struct SRTPace {
    private var end: Int64 = 0
    private var last: Int64 = 0

    /// Creates the state before the first message.
    package init() {}

    /// The earliest source time that the next message can get. It is the time of the last message or later.
    package var newest: Int64 { last }

    /// Starts to spread the following messages over the time `spread` after `now`. With 0 they are not spread.
    package mutating func begin(at now: Int64, spread: Int64) { end = now + spread }

    /// Returns the source time of the next message. `remaining` is the number of messages that are left, including this
    /// one. The time is never before `now`, and never before the previous source time.
    package mutating func next(at now: Int64, remaining: Int) -> Int64 {
        let start = max(now, last)
        last = start
        let time = start
        if end > start, remaining > 1 { last += (end - start) / Int64(remaining) }
        return time
    }
}
