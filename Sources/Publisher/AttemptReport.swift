// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Networking
internal import Synchronization

/// Passes an attempt's events to its supervisor: any number of events before its end, the end once, and no events after
/// the attempt was abandoned.
///
/// ``NoticeLimit`` limits the number of notices about servers and receivers, because a server or a hundred receivers
/// must not fill the log. May be used on any thread.
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

    /// Whether events are no longer reported.
    var isOver: Bool { hasEnded.withLock { $0 } }

    /// Reports `event`, which is not the end of the attempt.
    func tell(_ event: AttemptEvent) {
        if isOver { return }
        guard case .notice(let text) = event else { return report(event) }
        let now = clock.now
        if let text = notices.withLock({ $0.said(of: text, at: now) }) { report(.notice(text)) }
    }

    /// Reports the end of the attempt.
    func end(_ event: AttemptEvent) {
        if silence() { report(event) }
    }

    /// Stops reporting events. Returns whether events were reported until now.
    @discardableResult
    func silence() -> Bool {
        hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }
}
