// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Computes when the packets of a file must be published, from their decoding times.
struct FilePace {
    /// The longest stall of the file, in nanoseconds, after which its packets catch up with the clock. After a longer
    /// stall, catching up would flood the outputs.
    private static let longestCatchUp: Int64 = 500_000_000

    /// The file time and the clock time, in nanoseconds, from which the pace is counted. `newest` is the latest file
    /// time that has become due, in nanoseconds.
    private var anchor: (time: Int64, clock: Int64)?
    private var newest = Int64.min

    /// Returns the clock time at which a packet with the decoding time `time` is due. `now` is the current clock time.
    /// All values are in nanoseconds. A packet that is not later than the newest due packet is due at once; this is
    /// common for interleaved audio.
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
    /// Sleeps until the time that `due` returns, in nanoseconds. Calls `due` again ten times a second, and returns as
    /// soon as its result is nil.
    func sleep(untilDue due: () -> Int64?) {
        while let moment = due(), case let now = now, moment > now { sleep(until: min(moment, now + 100_000_000)) }
    }
}
