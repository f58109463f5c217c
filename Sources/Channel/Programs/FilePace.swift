// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Computes when the packets of a file must be published, from their decoding times.
struct FilePace {
    /// The longest stall of the file after which its packets catch up with the clock. After a longer stall, catching up
    /// would flood the outputs.
    private static let longestCatchUp = Duration.milliseconds(500)

    /// The file time and the clock time from which the pace is counted. `newest` is the latest file time that has
    /// become due.
    private var anchor: (time: Timestamp, clock: MonotonicInstant)?
    private var newest = Timestamp.distantPast

    /// Returns when a packet with the decoding time `time` is due. A packet that is not later than the newest due
    /// packet is due at once; this is common for interleaved audio.
    mutating func due(_ time: Timestamp, now: MonotonicInstant) -> MonotonicInstant {
        guard time > newest else { return .distantPast }
        let from = anchor ?? (time, now)
        let due = from.clock + (time - from.time)
        anchor = now - due > Self.longestCatchUp ? (time, now) : from
        if now >= due { newest = time }
        return due
    }
}

extension MonotonicClock {
    /// Sleeps until the moment that `due` returns. Calls `due` again ten times a second, and returns as soon as its
    /// result is nil.
    func sleep(untilDue due: () -> MonotonicInstant?) {
        while let moment = due(), case let now = now, moment > now {
            sleep(until: min(moment, now + .milliseconds(100)))
        }
    }
}
