// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Combines many wakes of a queue into one pass. Any thread.
///
/// The waking thread posts a pass if ``raise()`` returns true. The pass calls ``lower()`` before it reads the queue. So
/// an item queued before a wake is always seen, by the pass that this wake posted or by an earlier one that had not
/// begun.
package struct WakeFlag: ~Copyable, Sendable {
    private let isRaised = Atomic(false)

    /// A flag that is not raised.
    package init() {}

    /// Returns whether the caller must post a pass: no posted pass is still waiting to begin.
    package borrowing func raise() -> Bool { !isRaised.exchange(true, ordering: .acquiringAndReleasing) }

    /// The pass calls this when it begins. An exchange and not a store: the pass must see all that was written before
    /// the wakes that it serves.
    package borrowing func lower() { _ = isRaised.exchange(false, ordering: .acquiringAndReleasing) }
}
