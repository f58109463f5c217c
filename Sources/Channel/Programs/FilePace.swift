// SPDX-License-Identifier: Apache-2.0

internal import Media

/// When the packets of a file are due, by their decoding times.
struct FilePace {
    /// A file that stalled for longer, in nanoseconds, is not caught up with, which would flood the outputs.
    private static let longestCatchUp: Int64 = 500_000_000

    /// Where on the file's time and on the clock the pace is counted from, and the latest time that was due.
    private var anchor: (time: Int64, clock: Int64)?
    private var newest = Int64.min

    /// When a packet of this decoding time is due on the clock, which stands at `now`; both in nanoseconds. What comes
    /// behind a later packet, as audio does in many a multiplex, is due at once.
    mutating func due(_ time: Int64, now: Int64) -> Int64 {
        guard time > newest else { return .min }
        let from = anchor ?? (time, now)
        let due = from.clock + time - from.time
        anchor = now - due > Self.longestCatchUp ? (time, now) : from
        if now >= due { newest = time }
        return due
    }
}

extension MonotonicClock {
    /// Sleeps until the moment that `due` says, in nanoseconds, which is asked again ten times a second; not any more once it
    /// says nil.
    func sleep(untilDue due: () -> Int64?) {
        while let moment = due(), case let now = now, moment > now { sleep(until: min(moment, now + 100_000_000)) }
    }
}
