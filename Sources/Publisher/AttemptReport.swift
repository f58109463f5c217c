// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Synchronization

/// What an attempt tells its supervisor: anything until its end, the end once, and nothing when it was abandoned.
final class AttemptReport: Sendable {
    private let report: @Sendable (AttemptEvent) -> Void
    private let hasEnded = Mutex(false)

    init(_ report: @escaping @Sendable (AttemptEvent) -> Void) { self.report = report }

    /// Whether nothing will be told any more.
    var isOver: Bool { hasEnded.withLock { $0 } }

    func tell(_ event: AttemptEvent) {
        if !isOver { report(event) }
    }

    /// Tells the end.
    func end(_ event: AttemptEvent) {
        if silence() { report(event) }
    }

    /// From now on nothing is told. Whether something could have been until now.
    @discardableResult
    func silence() -> Bool {
        hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }
}
