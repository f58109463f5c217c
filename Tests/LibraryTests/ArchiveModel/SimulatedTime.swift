// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import Synchronization
import TestSupport

/// The clocks of a simulated machine: a monotonic clock, which is right, and a wall clock, which can be wrong.
final class SimulatedTime: MonotonicClock {
    private struct State {
        var elapsed: MonotonicInstant = 1_000_000_000_000
        /// How far the wall clock is ahead, in milliseconds.
        var error: Int64 = 0
        var hasServer = true
    }

    /// The time that the wall clock showed at the monotonic time 0: a time in May 2020, in milliseconds since 1970.
    private static let start: Int64 = 1_590_000_000_000

    private let state = Mutex(State())

    /// The true time.
    var now: MonotonicInstant { state.withLock { $0.elapsed } }
    /// The true time in whole seconds, for reports.
    var seconds: Int64 { now.nanoseconds / 1_000_000_000 }
    /// The time that the wall clock shows.
    var wall: UTCTime {
        state.withLock { UTCTime(milliseconds: Self.start + $0.elapsed.nanoseconds / 1_000_000 + $0.error) }
    }
    /// How far the wall clock is ahead, in milliseconds.
    var error: Int64 { state.withLock { $0.error } }
    /// Whether the wall clock is right.
    var isRight: Bool { error == 0 }
    /// Whether a time server confirms the wall clock. No server confirms a clock that is wrong.
    var isConfirmed: Bool { state.withLock { $0.error == 0 && $0.hasServer } }

    func sleep(until deadline: MonotonicInstant) { state.withLock { $0.elapsed = max($0.elapsed, deadline) } }

    /// Advances the time by `duration`.
    func pass(_ duration: Duration) { state.withLock { $0.elapsed += duration } }

    /// Sets the wall clock so that it is ahead by `error` milliseconds.
    func set(error: Int64, hasServer: Bool) { state.withLock { ($0.error, $0.hasServer) = (error, hasServer) } }

    /// The local time's offset from UTC, in seconds. It changes every three hours as it does for summer time, so that
    /// names in local time are skipped and repeated.
    static func localOffset(at time: UTCTime) -> Int { time.milliseconds / 10_800_000 % 2 == 0 ? 7200 : 3600 }
}
