// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Combines many wake-ups of a queue into one pass over the queue. Any thread may use the flag.
///
/// A thread that adds an item posts a pass if ``raise()`` returns true. The pass calls ``lower()`` before it reads the
/// queue. No item is missed: if ``raise()`` returns false, a pass that has not begun yet is already posted, and that
/// pass reads the item.
package struct WakeFlag: ~Copyable, Sendable {
    private let isRaised = Atomic(false)

    /// A flag that is not raised.
    package init() {}

    /// Raises the flag. Returns true if the caller must post a pass over the queue; false if a posted pass has not
    /// begun yet.
    package borrowing func raise() -> Bool { !isRaised.exchange(true, ordering: .acquiringAndReleasing) }

    /// Lowers the flag. A pass over the queue calls this method when it begins. The method uses an atomic exchange
    /// instead of a store, so that the pass sees everything that threads wrote before they raised the flag.
    package borrowing func lower() { _ = isRaised.exchange(false, ordering: .acquiringAndReleasing) }
}
