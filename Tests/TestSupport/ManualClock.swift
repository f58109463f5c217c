// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import Media
internal import Synchronization

/// A clock that stands still until a test advances it, with timers that follow it. Any thread can use it.
package final class ManualClock: MonotonicClock {
    private struct Timer {
        let due: MonotonicInstant
        let queue: DispatchQueue
        let work: @Sendable () -> Void
    }

    private struct State {
        var now: MonotonicInstant
        var timers: [Timer] = []
    }

    private let state: Mutex<State>

    /// Creates a clock that shows `now`.
    package init(now: MonotonicInstant = .zero) { state = Mutex(State(now: now)) }

    package var now: MonotonicInstant { state.withLock { $0.now } }

    /// Advances the clock to `deadline`, unless the deadline is past, and returns at once.
    package func sleep(until deadline: MonotonicInstant) { move { max($0, deadline) } }

    /// Advances the clock, and starts the timers that are then due, in order.
    package func advance(by duration: Duration) { move { $0 + duration } }

    /// Runs `work` on `queue` when the clock has advanced by `wait`, or immediately if `wait` is not above 0.
    package func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.timers.append(Timer(due: $0.now + wait, queue: queue, work: work)) }
        move { $0 }
    }

    /// Whether there is a timer that is due within `duration`. A test that advances the clock in order to start a timer
    /// must wait for this first. Otherwise it may advance the clock before the timer is set, and the timer is then due
    /// too late.
    package func hasTimer(within duration: Duration) -> Bool {
        state.withLock { state in state.timers.contains { $0.due <= state.now + duration } }
    }

    private func move(to time: (MonotonicInstant) -> MonotonicInstant) {
        let due = state.withLock { state in
            state.now = time(state.now)
            let due = state.timers.filter { $0.due <= state.now }.sorted { $0.due < $1.due }
            state.timers.removeAll { $0.due <= state.now }
            return due
        }
        for timer in due { timer.queue.async(execute: timer.work) }
    }
}
