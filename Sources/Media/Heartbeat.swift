// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The sign of life of one thread on the path of media. A supervisor that restarts a stuck process tells by it that the
/// process is stuck.
///
/// The thread beats at each turn of its work, and rests while it waits for what others decide: a source that has nothing, a
/// disk that does not answer. Silence while it does not rest is a fault of the process. Any thread may ask.
package final class Heartbeat: Sendable {
    /// The name of the thread in the log.
    package let name: String
    private let clock: any MonotonicClock
    /// When it beat last, in nanoseconds; ``resting`` while it rests.
    private let latest = Atomic<Int64>(Heartbeat.resting)
    private static let resting = Int64.max

    /// A heartbeat at rest, by `clock`.
    package init(_ name: String, clock: any MonotonicClock = SystemClock()) {
        self.name = name
        self.clock = clock
    }

    /// The thread works: its next sign of life is expected soon.
    package func beat() { latest.store(clock.now, ordering: .relaxed) }

    /// The thread waits for something that may come at any time or never.
    package func rest() { latest.store(Self.resting, ordering: .relaxed) }

    /// Runs `body`, which may rightly take any time, as a rest, and beats afterwards.
    package func resting<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        rest()
        defer { beat() }
        return try body()
    }

    /// How long there has been no sign of life from a thread that works; nil while it rests.
    package var silence: Duration? {
        let latest = latest.load(ordering: .relaxed)
        return latest == Self.resting ? nil : .nanoseconds(max(0, clock.now - latest))
    }
}
