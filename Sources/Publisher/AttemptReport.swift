// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Networking
internal import Synchronization

/// Passes the events of one connection attempt to the output's supervisor: any number of events, then the attempt's end
/// exactly once. After the end, and after the attempt was abandoned, no event is passed on.
///
/// No lock is held while an event is passed on. So an event that one thread reports while another ends or silences the
/// report can reach the supervisor just after that. This does no harm: the supervisor ignores the steps and the end of
/// an attempt that it has given up, and at most logs a last notice or requests one more keyframe.
///
/// ``NoticeLimit`` limits the number of notices about servers and receivers, so that a server or a hundred receivers
/// cannot fill the log. May be used on any thread.
final class AttemptReport: Sendable {
    private let report: @Sendable (AttemptEvent) -> Void
    private let clock: any MonotonicClock
    private let hasEnded = Mutex(false)
    private let notices = Mutex(NoticeLimit())

    /// Creates a report that passes each event to `report`. `clock` is used to limit the number of notices.
    init(clock: any MonotonicClock = SystemClock(), _ report: @escaping @Sendable (AttemptEvent) -> Void) {
        self.report = report
        self.clock = clock
    }

    /// True after the attempt's end was reported, or after the report was silenced.
    var isOver: Bool { hasEnded.withLock { $0 } }

    /// Passes on `event`. The end of the attempt is reported by ``end(_:)`` instead.
    func tell(_ event: AttemptEvent) {
        if isOver { return }
        guard case .notice(let text) = event else { return report(event) }
        let now = clock.now
        if let text = notices.withLock({ $0.said(of: text, at: now) }) { report(.notice(text)) }
    }

    /// Reports `event` as the end of the attempt, unless the attempt's end was reported before or the report was
    /// silenced.
    func end(_ event: AttemptEvent) {
        if silence() { report(event) }
    }

    /// Stops passing on events. Returns false if the report had already stopped.
    @discardableResult
    func silence() -> Bool {
        hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
    }
}
