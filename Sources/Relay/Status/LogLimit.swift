// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media

/// Decides which log lines are written, and which are only counted. Within 10 s, at most 10 lines of the same cause are
/// written. Then one line reports how many were dropped.
struct LogLimit {
    /// What log lines about the same fault have in common. Lines that differ only in numbers have the same cause.
    struct Cause: Hashable {
        let level: Logger.Level
        let message: String
        let subject: [String]

        /// Creates the cause of a log line.
        init(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) {
            self.level = level
            self.message = Self.withoutNumbers(message)
            subject = Self.subjects.map { key in metadata[key].map { "\($0)" } ?? "" }
        }

        /// The keys of metadata that distinguish causes.
        static let subjects = ["channel", "source", "output", "input", "segment", "export"]

        private static func withoutNumbers(_ text: String) -> String {
            var kept = ""
            for character in text where !(character.isNumber && kept.last == "#") {
                kept.append(character.isNumber ? "#" : character)
            }
            return kept
        }
    }

    /// The lines of one cause that were dropped in an interval.
    struct LeftOut: Equatable {
        /// The number of dropped lines.
        var count = 0
        /// The level, the message and the metadata of the last dropped line.
        var level = Logger.Level.info
        var message = ""
        var metadata: Logger.Metadata = [:]
    }

    private struct Interval {
        let end: MonotonicInstant
        var lines = 0
        var leftOut = LeftOut()
    }

    /// How many lines of a cause are written in an interval.
    static let most = 10
    /// The length of an interval, which begins with the first line of a cause.
    static let interval = Duration.seconds(10)
    /// How many causes are counted separately; beyond this number, all lines of a level with another cause count as one
    /// cause. The limit is necessary because clients could otherwise fill the memory with ever new texts.
    static let mostCauses = 1000

    private var intervals: [Cause: Interval] = [:]

    /// Counts a line, and returns whether it is written.
    mutating func admits(
        _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, at now: MonotonicInstant
    ) -> Bool {
        var cause = Cause(level, message, metadata)
        if intervals[cause] == nil, intervals.count >= Self.mostCauses { cause = Cause(level, "", [:]) }
        var interval = intervals[cause] ?? Interval(end: now + Self.interval)
        defer { intervals[cause] = interval }
        interval.lines += 1
        if interval.lines <= Self.most { return true }
        interval.leftOut = LeftOut(
            count: interval.leftOut.count + 1, level: level, message: message, metadata: metadata)
        return false
    }

    /// Returns the dropped lines of the intervals that have ended at `now`, and removes these intervals.
    mutating func takeEnded(at now: MonotonicInstant) -> [LeftOut] {
        let ended = intervals.filter { $0.value.end <= now }
        for cause in ended.keys { intervals[cause] = nil }
        return ended.values.map(\.leftOut).filter { $0.count > 0 }.sorted { $0.message < $1.message }
    }

    /// The time at which the next interval ends; nil if no interval is running.
    var nextEnd: MonotonicInstant? { intervals.values.map(\.end).min() }
}
