// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Media
import Synchronization

/// A clock that a simulation sets to one moment after another. Work that is due in between runs on the simulation's
/// thread, in order of time, so that a simulation with the same seed has the same result.
final class SimulatedClock: MonotonicClock, OutputTimers {
    private struct Event: Sendable {
        let due: MonotonicInstant
        let queue: DispatchQueue?
        let work: @Sendable () -> Void
    }

    private struct State {
        var now = MonotonicInstant.zero
        /// The events, sorted so that the last one is due first.
        var events: [Event] = []

        mutating func insert(_ event: Event) {
            let index = events.lastIndex { $0.due > event.due }.map { $0 + 1 } ?? 0
            events.insert(event, at: index)
        }

        mutating func next(until time: MonotonicInstant) -> Event? {
            guard let event = events.last, event.due <= time else { return nil }
            events.removeLast()
            now = max(now, event.due)
            return event
        }
    }

    private let state = Mutex(State())

    var now: MonotonicInstant { state.withLock { $0.now } }

    /// Returns at once: only the simulation moves the clock.
    func sleep(until deadline: MonotonicInstant) {}

    func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        let wait = max(.zero, wait)
        state.withLock { state in
            state.insert(Event(due: state.now + wait, queue: queue, work: work))
        }
    }

    /// Runs `work` on the simulation's thread at `time`. If `time` has passed, `work` runs as soon as the clock runs.
    func schedule(at time: MonotonicInstant, _ work: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.insert(Event(due: max(state.now, time), queue: nil, work: work))
        }
    }

    /// Runs the clock to `time` and does all work that is due until then. Calls `settle` after each event.
    func run(until time: MonotonicInstant, afterEach settle: () -> Void) {
        while let event = state.withLock({ $0.next(until: time) }) {
            if let queue = event.queue { queue.sync(execute: event.work) } else { event.work() }
            settle()
        }
        state.withLock { state in state.now = max(state.now, time) }
    }
}
