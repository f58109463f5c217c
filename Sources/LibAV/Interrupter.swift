// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media
internal import Synchronization

/// Ends a blocking call of libav from another thread, or after a time limit.
///
/// libav polls the interrupter about ten times a second while it waits for the network, and between the blocks that it
/// reads.
package final class Interrupter: Sendable {
    private let clock: any MonotonicClock
    private let stopped = Atomic<Bool>(false)
    /// The deadline of the running call, a ``MonotonicInstant`` as its number.
    private let deadline = Atomic<Int64>(MonotonicInstant.distantFuture.nanoseconds)

    /// Creates an interrupter whose deadlines use `clock`.
    package init(clock: any MonotonicClock = SystemClock()) { self.clock = clock }

    /// Ends the running call and every later one. Any thread may call it, any number of times.
    package func interrupt() { stopped.store(true, ordering: .releasing) }

    /// Whether ``interrupt()`` was called.
    package var isInterrupted: Bool { stopped.load(ordering: .acquiring) }

    /// Sets the deadline of the following calls to `limit` from now; nil means no deadline.
    func allow(_ limit: Duration?) {
        let end = limit.map { clock.now + $0 } ?? .distantFuture
        deadline.store(end.nanoseconds, ordering: .releasing)
    }

    /// Ends the running call as if its time limit had passed. Later calls have time limits of their own. Any thread may
    /// call it, any number of times.
    package func expire() { deadline.store(MonotonicInstant.distantPast.nanoseconds, ordering: .releasing) }

    /// The callback that libav polls. The interrupter must outlive every use of the callback.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { opaque in
                guard let opaque else { return 0 }
                return Unmanaged<Interrupter>.fromOpaque(opaque).takeUnretainedValue().mustEnd ? 1 : 0
            },
            opaque: Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether the running call must end.
    var mustEnd: Bool { isInterrupted || hasTimedOut }

    /// Whether the deadline has passed.
    var hasTimedOut: Bool {
        let end = MonotonicInstant(nanoseconds: deadline.load(ordering: .acquiring))
        return end != .distantFuture && clock.now > end
    }
}
