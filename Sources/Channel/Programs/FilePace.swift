// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Computes when the packets of a file are due, from their decoding times.
struct FilePace {
    /// The longest stall, in nanoseconds, after which a file catches up. After a longer stall, catching up would flood
    /// the outputs.
    private static let longestCatchUp: Int64 = 500_000_000

    /// The file time and the clock time from which the pace is counted. `newest` is the latest file time that was due.
    private var anchor: (time: Int64, clock: Int64)?
    private var newest = Int64.min

    /// Returns the clock time at which a packet of this decoding time is due; `now` is the current clock time; all in
    /// nanoseconds. A packet with an earlier time than its predecessor, which is common for interleaved audio, is due
    /// at once.
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
    /// Sleeps until the time that `due` returns, in nanoseconds. Calls `due` ten times a second, and returns if its
    /// result is nil.
    func sleep(untilDue due: () -> Int64?) {
        while let moment = due(), case let now = now, moment > now { sleep(until: min(moment, now + 100_000_000)) }
    }
}
