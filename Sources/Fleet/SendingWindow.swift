// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// The time until which a host may send one channel. Each writer asks it immediately before bytes leave the process.
///
/// The check has to be made there and not by a timer: a process that was stopped for a while runs no timer, and its
/// writers continue in the middle of their loops when it wakes. Such a writer finds the window closed. Between the check
/// and the system call one write can still slip through, so a target should also refuse a second publisher.
///
/// Any thread may call the methods. A check costs one read of the clock and one of a number.
package final class SendingWindow: Sendable {
    private let clock: any MonotonicClock
    /// The nanoseconds of the window's end; those of ``closed`` while it is closed.
    private let end = Atomic(SendingWindow.closed.nanoseconds)
    private static let closed = MonotonicInstant.distantPast

    /// A closed window. The default clock also counts the time in which the machine was suspended.
    package init(clock: any MonotonicClock = SuspensionClock()) { self.clock = clock }

    /// Opens the window until `deadline` of the window's clock, or changes its end to `deadline`.
    package func open(until deadline: MonotonicInstant) { end.store(deadline.nanoseconds, ordering: .releasing) }

    /// Closes the window. A write whose check came before can still leave.
    package func close() { end.store(Self.closed.nanoseconds, ordering: .releasing) }

    /// Whether bytes may leave now.
    package var isOpen: Bool { clock.now < deadline }

    /// How long the window will stay open if it is not extended; zero if it is closed.
    package var timeLeft: Duration {
        let deadline = deadline
        return max(.zero, deadline - clock.now)
    }

    private var deadline: MonotonicInstant { MonotonicInstant(nanoseconds: end.load(ordering: .acquiring)) }
}
