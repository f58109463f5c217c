// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Networking
internal import Synchronization

/// The reports of an attempt to its supervisor: any event until its end, the end once, and nothing after it was
/// abandoned.
///
/// Notices about servers and callers are told only as far as ``NoticeLimit`` admits: a server or a hundred callers must
/// not fill the log. All calls may come from any thread.
final class AttemptReport: Sendable {
    private let report: @Sendable (AttemptEvent) -> Void
    private let clock: any MonotonicClock
    private let hasEnded = Mutex(false)
    private let notices = Mutex(NoticeLimit())

    /// A report to `report`; `clock` is what notices are counted by.
    init(clock: any MonotonicClock = SystemClock(), _ report: @escaping @Sendable (AttemptEvent) -> Void) {
        self.report = report
        self.clock = clock
    }

    /// Whether nothing will be told any more.
    var isOver: Bool { hasEnded.withLock { $0 } }

    /// Tells `event`, which is not the end.
    func tell(_ event: AttemptEvent) {
        if isOver { return }
        guard case .notice(let text) = event else { return report(event) }
        let now = clock.now
        if let text = notices.withLock({ $0.said(of: text, at: now) }) { report(.notice(text)) }
    }

    /// Tells the end.
    func end(_ event: AttemptEvent) {
        if silence() { report(event) }
    }

    /// From now on nothing is told. Returns whether something could have been until now.
    @discardableResult
    func silence() -> Bool {
        hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }
}
