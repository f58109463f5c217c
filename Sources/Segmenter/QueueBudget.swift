// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The memory that the queues of all recorders of a process share, so that many recordings on a slow disk do not each
/// fill a queue of full size. May be called on any thread; the calls are short and never block.
package final class QueueBudget: Sendable {
    private let limit: Int
    private let used = Mutex(0)

    /// Creates a budget of `limit` bytes.
    package init(limit: Int = 256 << 20) { self.limit = limit }

    /// Takes `bytes` from the budget if so many are left. Returns whether the bytes were taken.
    func take(_ bytes: Int) -> Bool {
        used.withLock { used in
            guard used + bytes <= limit else { return false }
            used += bytes
            return true
        }
    }

    /// Gives `bytes`, which were taken before, back to the budget.
    func give(_ bytes: Int) { used.withLock { $0 -= bytes } }
}
