// SPDX-License-Identifier: Apache-2.0

package import Dispatch
internal import Synchronization

/// Calls a closure each second until it is stopped or released. The first call comes one second after the start.
package final class SecondTimer: Sendable {
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)

    /// Creates a timer that does not run yet.
    package init() {}

    deinit { stop() }

    /// Calls `body` on `queue` each second, delayed by at most `leeway`. Replaces a timer that was started earlier.
    package func start(on queue: DispatchQueue, leeway: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) {
        timer.withLock { timer in
            timer?.cancel()
            let next = DispatchSource.makeTimerSource(queue: queue)
            next.schedule(deadline: .now() + 1, repeating: 1, leeway: leeway)
            next.setEventHandler(handler: body)
            next.activate()
            timer = next
        }
    }

    /// Stops the timer. A running call continues.
    package func stop() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }
}
