// SPDX-License-Identifier: Apache-2.0

/// Tracks the slowest recent pace of packet arrivals. Packets that arrive before that pace are ahead of time and do not
/// count as queued: a playlist delivers a whole segment at once, and an opened input delivers what it held until its
/// tracks were known. The output has until the next burst to send them.
///
/// A pace is the lateness of packets, arrival minus media time; the slowest pace is that of the first packet of each
/// burst.
struct ArrivalPace {
    /// How long the slowest pace is kept at least; at most twice that. Longer than segments.
    private static let window: Int64 = 30_000_000_000
    /// No burst is longer: after a longer silence a sender has delivered nothing ahead of time.
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
