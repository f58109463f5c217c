// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The heartbeat of one thread on the media path. While a thread hangs, relay does not tell the service manager that it
/// is healthy, so that the service manager restarts the process.
///
/// The thread beats each time it passes through its loop. It rests while it waits for something outside the process,
/// such as a source without data or a disk that does not answer. A thread that neither beats nor rests hangs. Any
/// thread may call the methods.
package final class Heartbeat: Sendable {
    /// The name of the thread in the log.
    package let name: String
    private let clock: any MonotonicClock
    /// The nanoseconds of the clock at the last beat; those of ``resting`` while the thread rests.
    private let latest = Atomic<Int64>(Heartbeat.resting.nanoseconds)
    private static let resting = MonotonicInstant.distantFuture

    /// A resting heartbeat whose times come from `clock`.
    package init(_ name: String, clock: any MonotonicClock = SystemClock()) {
        self.name = name
        self.clock = clock
    }

    /// Records that the thread is working and will soon beat again.
    package func beat() { latest.store(clock.now.nanoseconds, ordering: .relaxed) }

    /// Records that the thread now waits, and that the wait may take any time.
    package func rest() { latest.store(Self.resting.nanoseconds, ordering: .relaxed) }

    /// Rests while `body` runs, because `body` may take any time, and beats afterwards.
    package func resting<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        rest()
        defer { beat() }
        return try body()
    }

    /// Time since the last beat of a working thread; nil while the thread rests.
    package var silence: Duration? {
        let latest = MonotonicInstant(nanoseconds: latest.load(ordering: .relaxed))
        return latest == Self.resting ? nil : max(.zero, clock.now - latest)
    }
}
