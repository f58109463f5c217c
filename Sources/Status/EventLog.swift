// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import DequeModule
internal import Synchronization

/// Something that an operator wants to read later.
package struct ControlEvent: Sendable, Encodable, Equatable {
    /// In place of a kind: the line shows the status, and is no event.
    package static let statusLine = "status"

    /// How much it matters, in the log's words.
    package enum Level: String, Sendable, Codable {
        case info, notice, warning, error
    }

    /// Counts up from 1 in one run of the process; what follows it is asked for by it.
    package var id: UInt64 = 0
    /// When.
    package var time: UTCTime
    /// The channel; nil for the process.
    package var channel: String?
    /// How much it matters.
    package var level: Level
    /// What it is about: `output`, `input`, `recorder`, `storage`, `upload`, `alarm`, `marker`, `operator`, `channel`
    /// or `relay`.
    package var kind: String
    /// The output it is about.
    package var output: String?
    /// A sentence, without secrets.
    package var text: String

    /// An event that is not in a log yet.
    package init(
        time: UTCTime = .now, channel: String?, level: Level, kind: String, output: String? = nil, text: String
    ) {
        (self.time, self.channel, self.level) = (time, channel, level)
        (self.kind, self.output, self.text) = (kind, output, text)
    }

    private enum Key: String, CodingKey { case id, time, channel, level, kind, output, text }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encode(time.extended, forKey: .time)
        try container.encodeIfPresent(channel, forKey: .channel)
        try container.encode(level, forKey: .level)
        try container.encode(kind, forKey: .kind)
        try container.encodeIfPresent(output, forKey: .output)
        try container.encode(text, forKey: .text)
    }
}

/// The newest events, for who looks later. All calls may come from any thread and return at once.
package final class EventLog: Sendable {
    /// How many are kept.
    package static let limit = 500

    private struct State {
        var events = Deque<ControlEvent>()
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// A log without events.
    package init() {}

    /// Takes an event in, and numbers it.
    package func append(_ event: ControlEvent) {
        state.withLock { state in
            state.last += 1
            var event = event
            event.id = state.last
            state.events.append(event)
            if state.events.count > Self.limit { state.events.removeFirst() }
        }
    }

    /// The number of the newest event; 0 before the first one.
    package var last: UInt64 { state.withLock { $0.last } }

    /// What is kept of the events behind number `id`. A number that is not reached yet is another run's: then all are.
    package func events(after id: UInt64) -> [ControlEvent] {
        state.withLock { state in
            guard id <= state.last else { return Array(state.events) }
            let count = Int(clamping: state.last - id)
            return Array(state.events.suffix(count))
        }
    }
}
