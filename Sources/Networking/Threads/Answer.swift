// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// The result of another thread's work, for a caller that may stop waiting. It is set once. Any thread may call it.
package final class Answer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    /// Starts without a result.
    package init() {}

    /// Sets the result.
    package func give(_ value: Value) {
        self.value.withLock { $0 = value }
        isGiven.signal()
    }

    /// Waits for the result without a limit. Call it once.
    package func wait() -> Value {
        while true {
            isGiven.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }

    /// Waits for the result; nil if it does not come within `limit`.
    package func wait(_ limit: Duration) -> Value? {
        _ = isGiven.wait(timeout: .now() + .nanoseconds(Int(limit.inNanoseconds)))
        return value.withLock { $0 }
    }

    /// Runs `work` on a queue called `name` and returns its result; nil if it takes longer than `limit`. If a disk, a
    /// pipe or a library hangs, a blocked thread remains.
    package static func of(_ name: String, within limit: Duration, _ work: @escaping @Sendable () -> Value) -> Value? {
        let answer = Answer()
        DispatchQueue(label: name).async { answer.give(work()) }
        return answer.wait(limit)
    }
}
