// SPDX-License-Identifier: Apache-2.0

/// Tracks the lateness of packets (arrival minus media time), to find out how far a packet is ahead of the slowest
/// recent packets. Such packets do not count as queued: a playlist delivers a whole segment at once, and an input that
/// was just opened delivers what it kept until its tracks were known. The output has until the next burst to send them.
///
/// The slowest packet is the first packet of each burst.
struct ArrivalPace {
    /// The minimum time for which the slowest lateness is kept; the maximum is twice as long. Longer than any segment.
    private static let window: Int64 = 30_000_000_000
    /// The maximum by which a packet counts as ahead of time. No burst is longer: a larger difference is the result of
    /// a silence of the sender.
    private static let longest: Int64 = 20_000_000_000

    private var (slowest, before): (Int64?, Int64?)
    private var began: Int64 = 0

    /// Records a packet of media time `time` that arrives at `now`, both in nanoseconds, and returns how far it is
    /// ahead of time.
    mutating func note(_ time: Int64, at now: Int64) -> Int64 {
        let delay = now &- time
        if slowest == nil || now &- began > Self.window { (before, slowest, began) = (slowest, delay, now) }
        slowest = max(slowest ?? delay, delay)
        return min(Self.longest, max(slowest ?? delay, before ?? delay) &- delay)
    }
}
