// SPDX-License-Identifier: Apache-2.0

package import Dispatch
internal import Media
internal import Synchronization

/// A clock that stands still until a test moves it, with timers that go by it. For any thread.
package final class ManualClock: MonotonicClock {
    private struct Timer {
        let due: Int64
        let queue: DispatchQueue
        let work: @Sendable () -> Void
    }

    private struct State {
        var now: Int64
        var timers: [Timer] = []
    }

    private let state: Mutex<State>

    /// A clock that shows `now`, in nanoseconds.
    package init(now: Int64 = 0) { state = Mutex(State(now: now)) }

    package var now: Int64 { state.withLock { $0.now } }

    /// Moves the clock to `deadline`, unless that is past, and returns at once.
    package func sleep(until deadline: Int64) { move { max($0, deadline) } }

    /// Moves the clock forward and lets what is due begin, in order.
    package func advance(by duration: Duration) { move { $0 + duration.inNanoseconds } }

    /// Runs `work` on `queue` when the clock has been moved by `wait`, or at once if that is not above 0.
    package func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.timers.append(Timer(due: $0.now + wait.inNanoseconds, queue: queue, work: work)) }
        move { $0 }
    }

    /// Whether a timer is set that is due within `duration`. A test that moves the clock for the sake of a timer waits
    /// for this first: what the test sees otherwise may come before the timer is set, and then it is set too late.
    package func hasTimer(within duration: Duration) -> Bool {
        state.withLock { state in state.timers.contains { $0.due <= state.now + duration.inNanoseconds } }
    }

    private func move(to time: (Int64) -> Int64) {
        let due = state.withLock { state in
            state.now = time(state.now)
            let due = state.timers.filter { $0.due <= state.now }.sorted { $0.due < $1.due }
            state.timers.removeAll { $0.due <= state.now }
            return due
        }
        for timer in due { timer.queue.async(execute: timer.work) }
    }
}
