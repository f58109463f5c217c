// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// What another thread finds out, for a caller that may stop waiting for it. Given once; for any thread.
package final class Answer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    /// Nothing was found yet.
    package init() {}

    /// Says what was found.
    package func give(_ value: Value) {
        self.value.withLock { $0 = value }
        isGiven.signal()
    }

    /// Waits for it, as long as it takes. Once.
    package func wait() -> Value {
        while true {
            isGiven.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }

    /// Waits for it; nil if it does not come within `limit`.
    package func wait(_ limit: Duration) -> Value? {
        _ = isGiven.wait(timeout: .now() + .nanoseconds(Int(limit.inNanoseconds)))
        return value.withLock { $0 }
    }

    /// What `work` says, on a queue called `name`; nil if it takes longer than `limit`. Disks, pipes and libraries may not
    /// answer at all: then a thread is left behind.
    package static func of(_ name: String, within limit: Duration, _ work: @escaping @Sendable () -> Value) -> Value? {
        let answer = Answer()
        DispatchQueue(label: name).async { answer.give(work()) }
        return answer.wait(limit)
    }
}
