// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media
internal import Networking
internal import Synchronization

/// Logs the notices of the process's RTMP server about its clients. Clients can be hostile, so ``NoticeLimit`` limits
/// the number of log lines. May be called on any thread.
final class ServerNotices: Sendable {
    private let logger: Logger
    private let clock: any MonotonicClock
    private let limit = Mutex(NoticeLimit())

    /// Creates notices that are written to `logger`. `clock` measures their rate.
    init(logger: Logger, clock: any MonotonicClock) {
        self.logger = logger
        self.clock = clock
    }

    /// Logs `text`, a sentence without secrets, if ``NoticeLimit`` admits another line.
    func tell(_ text: String) {
        let now = clock.now
        if let said = limit.withLock({ $0.said(of: text, at: now) }) { logger.notice("\(said)") }
    }

    /// Logs the warning `text`, a sentence without secrets. The caller sends such a warning at most once a minute.
    func warn(_ text: String) { logger.warning("\(text)") }
}
