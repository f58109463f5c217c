// SPDX-License-Identifier: Apache-2.0

package import Dispatch
internal import Media

/// Schedules the outputs' waits by the same clock with which they are computed.
package protocol OutputTimers: Sendable {
    /// Runs `work` on `queue` after `wait`, or at once if `wait` is not positive. May be called on any thread; returns
    /// at once.
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
