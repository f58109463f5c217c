// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The heartbeat of one thread on the media path. A supervisor that restarts a stuck process reads it.
///
/// The thread beats at each turn of its work. It rests while it waits for something outside the process: a source
/// without data, or a disk that does not answer. Silence while it does not rest is a fault of the process. Any thread
/// may ask.
package final class Heartbeat: Sendable {
    /// The name of the thread in the log.
    package let name: String
    private let clock: any MonotonicClock
    /// Time of the last beat, in nanoseconds; ``resting`` while the thread rests.
    private let latest = Atomic<Int64>(Heartbeat.resting)
    private static let resting = Int64.max

    /// A heartbeat at rest that reads `clock`.
    package init(_ name: String, clock: any MonotonicClock = SystemClock()) {
        self.name = name
        self.clock = clock
    }

    /// Records that the thread works and will soon beat again.
    package func beat() { latest.store(clock.now, ordering: .relaxed) }

    /// Records that the thread waits for something that may come at any time or never.
    package func rest() { latest.store(Self.resting, ordering: .relaxed) }

    /// Rests while `body` runs, because it may take any time, and beats afterwards.
    package func resting<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        rest()
        defer { beat() }
        return try body()
    }

    /// Time since the last beat of a thread that works; nil while it rests.
    package var silence: Duration? {
        let latest = latest.load(ordering: .relaxed)
        return latest == Self.resting ? nil : .nanoseconds(max(0, clock.now - latest))
    }
}
