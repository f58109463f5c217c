// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media

/// An attempt that lives on a queue of its own and ends once: first it lets go of what it holds, then it tells how it
/// ended.
protocol EndingAttempt: OutputAttempt, QueueActor {
    /// What the attempt tells, and whether it is over.
    nonisolated var report: AttemptReport { get }
    /// Lets go of sockets, timers and files. May be called again, and does nothing then.
    func close()
}

extension EndingAttempt {
    nonisolated func abandon() {
        report.silence()
        post { $0.close() }
    }

    /// Closes and tells the failure, unless the end was told before.
    func fail(_ failure: OutputFailure) { end(.failed(failure)) }

    /// Closes and tells that everything went out, unless the end was told before.
    func drained() { end(.drained) }

    private func end(_ event: AttemptEvent) {
        close()
        report.end(event)
    }
}
