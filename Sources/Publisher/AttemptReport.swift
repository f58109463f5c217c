// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Networking
internal import Synchronization

/// Passes an attempt's events to its supervisor: any events until its end, the end once, and none after it was
/// abandoned.
///
/// Notices about servers and callers pass only as far as ``NoticeLimit`` admits them: a server, or a hundred callers,
/// must not fill the log. Any thread may use it.
final class AttemptReport: Sendable {
    private let report: @Sendable (AttemptEvent) -> Void
    private let clock: any MonotonicClock
    private let hasEnded = Mutex(false)
    private let notices = Mutex(NoticeLimit())

    /// A report that calls `report`; `clock` limits the notices.
    init(clock: any MonotonicClock = SystemClock(), _ report: @escaping @Sendable (AttemptEvent) -> Void) {
        self.report = report
        self.clock = clock
    }

    /// Whether no event will be reported any more.
    var isOver: Bool { hasEnded.withLock { $0 } }

    /// Reports `event`, which is not the end.
    func tell(_ event: AttemptEvent) {
        if isOver { return }
        guard case .notice(let text) = event else { return report(event) }
        let now = clock.now
        if let text = notices.withLock({ $0.said(of: text, at: now) }) { report(.notice(text)) }
    }

    /// Reports the end.
    func end(_ event: AttemptEvent) {
        if silence() { report(event) }
    }

    /// Reports no event from now on. Returns whether events were possible until now.
    @discardableResult
    func silence() -> Bool {
        hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }
}
