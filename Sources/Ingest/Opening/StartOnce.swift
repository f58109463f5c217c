// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Tells the first of several callers from all later ones.
final class StartOnce: Sendable {
    private let started = Atomic<Bool>(false)

    /// Returns true for the first caller only.
    func begin() -> Bool { !started.exchange(true, ordering: .acquiringAndReleasing) }
}
