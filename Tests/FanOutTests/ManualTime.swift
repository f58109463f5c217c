// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Media
import Synchronization

/// A clock that stands still until a test moves it, with timers that go by it.
final class ManualTime: MonotonicClock, OutputTimers {
    private struct Timer {
        let due: Int64
        let queue: DispatchQueue
        let work: @Sendable () -> Void
    }

    private struct State {
        var now: Int64 = 0
        var timers: [Timer] = []
    }

    private let state = Mutex(State())

    var now: Int64 { state.withLock { $0.now } }

    func sleep(until deadline: Int64) {
        let now = now
        if deadline > now { advance(by: .nanoseconds(deadline - now)) }
    }

    func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.timers.append(Timer(due: $0.now + wait.inNanoseconds, queue: queue, work: work)) }
        advance(by: .zero)
    }

    /// Moves the clock forward and lets what is due begin, in order.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration.inNanoseconds
            let due = state.timers.filter { $0.due <= state.now }.sorted { $0.due < $1.due }
            state.timers.removeAll { $0.due <= state.now }
            return due
        }
        for timer in due { timer.queue.async(execute: timer.work) }
    }
}
