// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking

/// Decides when a service manager is told that the process is well: not while a media thread gives no sign of life.
struct Watchdog {
    /// A thread without a sign of life, with the channel that it belongs to; nil for one of all channels.
    struct Silence: Equatable {
        var channel: String?
        var thread: String
        var length: Duration
    }

    /// What is to be done.
    struct Answer: Equatable {
        /// The service manager is to be told that all is well.
        var feeds = false
        /// Whose silence has become too long.
        var silent: Silence?
        /// The silence that was told is over.
        var isOver = false
    }

    /// Between two words to the service manager, and the longest silence: half of what it waits for, as sd_watchdog_enabled(3)
    /// advises.
    let interval: Duration
    private var fed: Int64?
    private var isSilent = false

    /// A watchdog that is to be fed each `interval`.
    init(interval: Duration) { self.interval = interval }

    /// How often ``look(at:silences:)`` is to be called.
    var period: Duration { min(.seconds(1), interval / 4) }

    /// Looks at all `silences` of threads that work, at the monotonic time `now` in nanoseconds.
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
