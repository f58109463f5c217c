// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media

/// An attempt that runs on its own queue and ends once: it first releases its resources, then reports how it ended.
protocol EndingAttempt: OutputAttempt, QueueActor {
    /// Reports the attempt's events, and whether it is over.
    nonisolated var report: AttemptReport { get }
    /// Releases sockets, timers and files. Further calls do nothing.
    func close()
}

extension EndingAttempt {
    nonisolated func abandon() {
        report.silence()
        post { $0.close() }
    }

    /// Closes and reports the failure, unless the end was already reported.
    func fail(_ failure: OutputFailure) { end(.failed(failure)) }

    /// Closes and reports that everything was sent, unless the end was already reported.
    func drained() { end(.drained) }

    private func end(_ event: AttemptEvent) {
        close()
        report.end(event)
    }
}
