// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media
internal import Networking
internal import Synchronization

/// What the process's server says of its clients, which may be hostile: no more than ``NoticeLimit`` admits is logged. Any
/// thread.
final class ServerNotices: Sendable {
    private let logger: Logger
    private let clock: any MonotonicClock
    private let limit = Mutex(NoticeLimit())

    /// Notices to `logger`, counted by `clock`.
    init(logger: Logger, clock: any MonotonicClock) {
        self.logger = logger
        self.clock = clock
    }

    /// Logs `text`, a sentence without secrets, if there is room.
    func tell(_ text: String) {
        let now = clock.now
        if let said = limit.withLock({ $0.said(of: text, at: now) }) { logger.notice("\(said)") }
    }
}
