// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Detects whether a queue on which nothing may block still runs its work.
final class QueueProbe: Sendable {
    /// Beats with each answer; it is silent from a question until its answer.
    let heartbeat: Heartbeat
    private let queue: DispatchQueue
    private let isAsked = Atomic(false)

    /// A probe of `queue` with `clock`.
    init(_ queue: DispatchQueue, clock: any MonotonicClock) {
        self.queue = queue
        heartbeat = Heartbeat(queue.label, clock: clock)
    }

    /// Posts a question to the queue, unless an answer is still awaited. Returns at once. Only one thread may call it
    /// at a time.
    func ask() {
        guard !isAsked.exchange(true, ordering: .acquiringAndReleasing) else { return }
        heartbeat.beat()
        queue.async { [self] in
            heartbeat.rest()
            isAsked.store(false, ordering: .releasing)
        }
    }
}
