// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Detects whether a queue on which nothing may block still executes its work.
final class QueueProbe: Sendable {
    /// A heartbeat that beats when the queue has executed a probe. Between a probe and its execution it is silent.
    let heartbeat: Heartbeat
    private let queue: DispatchQueue
    private let isAsked = Atomic(false)

    /// A probe of `queue` with `clock`.
    init(_ queue: DispatchQueue, clock: any MonotonicClock) {
        self.queue = queue
        heartbeat = Heartbeat(queue.label, clock: clock)
    }

    /// Posts a probe to the queue, unless the previous one has not been executed yet. Returns at once. Only one thread
    /// may call it at a time.
    func ask() {
        guard !isAsked.exchange(true, ordering: .acquiringAndReleasing) else { return }
        heartbeat.beat()
        queue.async { [self] in
            heartbeat.rest()
            isAsked.store(false, ordering: .releasing)
        }
    }
}
