// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Makes one pass over a queue of many wakes. Any thread.
///
/// Who wakes posts a pass if ``raise()`` says so; the pass calls ``lower()`` before it looks at what there is. So
/// whatever was queued before a wake is seen by the pass that the wake posted, or by one that was posted before and had not begun.
package struct WakeFlag: ~Copyable, Sendable {
    private let isRaised = Atomic(false)

    /// A flag that is not raised.
    package init() {}

    /// Whether a pass must be posted: none is under way that has not begun yet.
    package borrowing func raise() -> Bool { !isRaised.exchange(true, ordering: .acquiringAndReleasing) }

    /// A pass begins. An exchange and not a store: it sees all that was written before the wakes that it takes back.
    package borrowing func lower() { _ = isRaised.exchange(false, ordering: .acquiringAndReleasing) }
}
