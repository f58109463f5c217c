// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Lets only the first of many callers through.
final class StartOnce: Sendable {
    private let started = Atomic<Bool>(false)

    /// True for the first caller only.
    func begin() -> Bool { !started.exchange(true, ordering: .acquiringAndReleasing) }
}
