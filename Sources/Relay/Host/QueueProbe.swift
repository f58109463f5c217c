// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Finds out whether a queue on which nothing may block still runs what is posted to it.
final class QueueProbe: Sendable {
    /// Silent from a question until its answer.
    let heartbeat: Heartbeat
    private let queue: DispatchQueue
    private let isAsked = Atomic(false)

    /// A probe of `queue` by `clock`.
    init(_ queue: DispatchQueue, clock: any MonotonicClock) {
        self.queue = queue
        heartbeat = Heartbeat(queue.label, clock: clock)
    }

    /// Asks, unless an answer is still awaited. Returns at once. One thread at a time.
    func ask() {
        guard !isAsked.exchange(true, ordering: .acquiringAndReleasing) else { return }
        heartbeat.beat()
        queue.async { [self] in
            heartbeat.rest()
            isAsked.store(false, ordering: .releasing)
        }
    }
}
