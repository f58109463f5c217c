// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Combines many wake-ups of a queue into one pass over the queue. Any thread may call it.
///
/// A thread that adds an item posts a pass if ``raise()`` returns true. The pass calls ``lower()`` before it reads the
/// queue. Therefore every item is processed: by the pass that its thread posted, or by an earlier pass that had not
/// begun.
package struct WakeFlag: ~Copyable, Sendable {
    private let isRaised = Atomic(false)

    /// A flag that is not raised.
    package init() {}

    /// Returns whether the caller must post a pass. It must not if a posted pass is still waiting to begin.
    package borrowing func raise() -> Bool { !isRaised.exchange(true, ordering: .acquiringAndReleasing) }

    /// The pass calls this when it begins. It is an exchange and not a store, because the pass must see everything that
    /// was written before the wake-ups that it serves.
    package borrowing func lower() { _ = isRaised.exchange(false, ordering: .acquiringAndReleasing) }
}
