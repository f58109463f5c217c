// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Calls something each second, from a second after its start on, until it is stopped or released.
final class SecondTimer: Sendable {
    private let timer = Mutex<(any DispatchSourceTimer)?>(nil)

    deinit { stop() }

    /// Calls `body` on `queue`, up to `leeway` late. What was started before ends.
    func start(on queue: DispatchQueue, leeway: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) {
        timer.withLock { timer in
            timer?.cancel()
            let next = DispatchSource.makeTimerSource(queue: queue)
            next.schedule(deadline: .now() + 1, repeating: 1, leeway: leeway)
            next.setEventHandler(handler: body)
            next.activate()
            timer = next
        }
    }

    /// Ends the calls. A call that is under way continues.
    func stop() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }
}
