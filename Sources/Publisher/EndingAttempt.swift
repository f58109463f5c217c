// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media

/// A connection attempt that runs on its own queue and ends once. It first releases its resources, then reports how it
/// ended.
protocol EndingAttempt: OutputAttempt, QueueActor {
    /// Passes the attempt's events to the supervisor, and knows whether the attempt has ended.
    nonisolated var report: AttemptReport { get }
    /// Releases sockets, timers and files. A second call has no effect.
    func close()
}

extension EndingAttempt {
    nonisolated func abandon() {
        report.silence()
        post { $0.close() }
    }

    /// Releases the resources and reports `failure`, unless the attempt's end was reported before.
    func fail(_ failure: OutputFailure) { end(.failed(failure)) }

    /// Releases the resources and reports that everything was sent, unless the attempt's end was reported before.
    func drained() { end(.drained) }

    private func end(_ event: AttemptEvent) {
        close()
        report.end(event)
    }
}
