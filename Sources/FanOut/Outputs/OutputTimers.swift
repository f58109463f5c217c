// SPDX-License-Identifier: Apache-2.0

package import Dispatch
internal import Media

/// Calls back later: what the outputs' waits run on, beside the clock that they are computed with.
package protocol OutputTimers: Sendable {
    /// Runs `work` on `queue` after `wait`, or at once if that is not above 0. Any thread; returns at once.
    func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void)
}

/// Dispatch's timers, for ``SystemClock``.
package struct SystemTimers: OutputTimers {
    /// Dispatch's timers.
    package init() {}

    package func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        let nanoseconds = max(0, wait.inNanoseconds)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds)), execute: work)
    }
}
