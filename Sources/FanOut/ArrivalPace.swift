// SPDX-License-Identifier: Apache-2.0

/// The slowest pace at which packets came of late. What comes before it is ahead, not queued: a playlist brings a segment
/// at once, and an input that is opened what it held until its tracks were known, and the output has the whole time up to
/// the next one to send it.
///
/// A pace is how late packets are, arrival less media time; the slowest one is that of the first packet of each burst.
struct ArrivalPace {
    /// How long the slowest pace counts at least, and at most twice that. Longer than segments are.
    private static let window: Int64 = 30_000_000_000
    /// No burst is longer: a sender that was silent for longer brought nothing ahead afterwards.
    private static let longest: Int64 = 20_000_000_000

    private var (slowest, before): (Int64?, Int64?)
    private var began: Int64 = 0

    /// Takes in a packet of media time `time` that comes at `now`, both in nanoseconds, and returns how far it is ahead.
    mutating func note(_ time: Int64, at now: Int64) -> Int64 {
        let delay = now &- time
        if slowest == nil || now &- began > Self.window { (before, slowest, began) = (slowest, delay, now) }
        slowest = max(slowest ?? delay, delay)
        return min(Self.longest, max(slowest ?? delay, before ?? delay) &- delay)
    }
}
