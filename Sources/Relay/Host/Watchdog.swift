// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking

/// Decides when to tell the service manager that the process is healthy: regularly, but not while a media thread makes
/// no progress.
struct Watchdog {
    /// A thread that makes no progress, and for how long. `channel` is nil for a thread that all channels share.
    struct Silence: Equatable {
        var channel: String?
        var thread: String
        var length: Duration
    }

    /// The result of a check.
    struct Answer: Equatable {
        /// Whether to tell the service manager that the process is healthy.
        var feeds = false
        /// The thread whose silence has just become too long; nil if there is no such thread.
        var silent: Silence?
        /// Whether a silence that was reported before is now over.
        var isOver = false
    }

    /// The interval between two messages, and also the longest permitted silence: half of the service manager's limit,
    /// as sd_watchdog_enabled(3) recommends.
    let interval: Duration
    private var fed: Int64?
    private var isSilent = false

    /// Creates a watchdog that asks for a message every `interval`.
    init(interval: Duration) { self.interval = interval }

    /// How often ``look(at:silences:)`` must be called.
    var period: Duration { min(.seconds(1), interval / 4) }

    /// Checks the `silences` of all threads that are working. `now` is the monotonic time in nanoseconds.
    mutating func look(at now: Int64, silences: [Silence]) -> Answer {
        var answer = Answer()
        let longest = silences.max { $0.length < $1.length }
        if let longest, longest.length > interval {
            if !isSilent { answer.silent = longest }
            isSilent = true
            return answer
        }
        answer.isOver = isSilent
        isSilent = false
        if let fed, now - fed < (interval - period / 2).inNanoseconds { return answer }
        fed = now
        answer.feeds = true
        return answer
    }
}
