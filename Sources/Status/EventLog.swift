// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import DequeModule
package import Media
internal import Synchronization

/// An event that an operator might want to read later.
package struct ControlEvent: Sendable, Encodable, Equatable {
    /// The value of ``LogKey/event`` in log lines that report the status. Such lines are not events and have no kind.
    package static let statusLine = "status"

    /// The importance of an event, in the log's words.
    package enum Level: String, Sendable, Codable {
        case info, notice, warning, error
    }

    /// The event's number, counted from 1 in each run of the process. A client sends the number of the last event that
    /// it knows, and gets the later ones.
    package var id: UInt64 = 0
    /// When the event happened.
    package var time: UTCTime
    /// The channel; nil if the event concerns the whole process.
    package var channel: String?
    /// The importance of the event.
    package var level: Level
    /// The kind of the event's subject.
    package var kind: EventKind
    /// The output that the event concerns.
    package var output: String?
    /// A sentence, without secrets.
    package var text: String

    /// Creates an event that is not in a log yet.
    package init(
        time: UTCTime = .now, channel: String?, level: Level, kind: EventKind, output: String? = nil, text: String
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

/// Keeps the newest events for later readers. Any thread may use it; all calls return at once.
package final class EventLog: Sendable {
    /// How many events are kept.
    package static let limit = 500

    private struct State {
        var events = Deque<ControlEvent>()
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// A log without events.
    package init() {}

    /// Adds an event and numbers it.
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

    /// Returns the stored events after number `id`. If that number has not been reached yet, it comes from another run
    /// of the process, so all events are returned.
    package func events(after id: UInt64) -> [ControlEvent] {
        state.withLock { state in
            guard id <= state.last else { return Array(state.events) }
            let count = Int(clamping: state.last - id)
            return Array(state.events.suffix(count))
        }
    }
}
