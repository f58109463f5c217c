// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Tells the first caller from all later callers.
final class StartOnce: Sendable {
    private let started = Atomic<Bool>(false)

    /// Returns true for the first caller only.
    func begin() -> Bool { !started.exchange(true, ordering: .acquiringAndReleasing) }
}
