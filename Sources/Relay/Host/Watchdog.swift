// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking

/// Decides when to tell the service manager that the process is healthy: regularly, but not while a media thread makes
/// no progress.
struct Watchdog {
    /// A thread, and for how long it has made no progress. `channel` is nil for a thread that all channels share.
    struct Silence: Equatable {
        var channel: String?
        var thread: String
        var length: Duration
    }

    /// The result of a check.
    struct Answer: Equatable {
        /// Whether to tell the service manager that the process is healthy.
        var feeds = false
        /// The thread that has just exceeded the permitted time without progress; nil if there is no such thread.
        var silent: Silence?
        /// Whether all threads make progress again after a thread without progress was reported.
        var isOver = false
    }

    /// The interval between two messages, and also the longest time for which a thread may make no progress: half of
    /// the service manager's limit, as sd_watchdog_enabled(3) recommends.
    let interval: Duration
    private var fed: MonotonicInstant?
    private var isSilent = false

    /// Creates a watchdog that asks for a message every `interval`.
    init(interval: Duration) { self.interval = interval }

    /// How often ``look(at:silences:)`` must be called.
    var period: Duration { min(.seconds(1), interval / 4) }

    /// Checks `silences`, which says for how long each working thread has made no progress.
    mutating func look(at now: MonotonicInstant, silences: [Silence]) -> Answer {
        var answer = Answer()
        let longest = silences.max { $0.length < $1.length }
        if let longest, longest.length > interval {
            if !isSilent { answer.silent = longest }
            isSilent = true
            return answer
        }
        answer.isOver = isSilent
        isSilent = false
        if let fed, now - fed < interval - period / 2 { return answer }
        fed = now
        answer.feeds = true
        return answer
    }
}
