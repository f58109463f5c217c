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

    /// The event's number. Numbers rise by 1 within a run of the process, and each run begins above the numbers of
    /// earlier runs; see ``EventLog``. A client sends the number of the last event that it knows, and gets the later
    /// ones.
    package var id: UInt64 = 0
    /// When the event happened.
    package var time: UTCTime
    /// The name of the channel to which the event happened; nil if the event concerns the whole process.
    package var channel: String?
    /// The importance of the event.
    package var level: Level
    /// The kind of the event's subject.
    package var kind: EventKind
    /// The name of the output that the event concerns; nil if it concerns no output.
    package var output: String?
    /// A sentence that says what happened, without secrets.
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

/// Keeps the newest events for later readers, and numbers them. Any thread may use it; all calls return at once.
///
/// The first number of a run is derived from the wall clock at its start, in microseconds since 1970. No run adds a
/// million events per second over its whole length, so a later run begins with a larger number. A client that remembers
/// a number of an earlier run therefore gets all events of the new run. If the clock was set back between the runs, the
/// client's number is larger than all numbers of the new run, and the client gets all events, too.
package final class EventLog: Sendable {
    /// How many events are kept.
    package static let limit = 500

    private struct State {
        var events = Deque<ControlEvent>()
        var last: UInt64
    }

    /// The latest start time from which numbers are derived, in milliseconds since 1970: a time in the year 2223.
    /// Numbers stay below 2^53, so that programs that read JSON numbers as floating-point numbers read them exactly.
    private static let latestStart: Int64 = 8_000_000_000_000

    /// The number before the first event of this run.
    private let beginning: UInt64
    private let state: Mutex<State>

    /// A log without events, of a run that started at `start`.
    package init(startedAt start: UTCTime = .now) {
        let beginning = UInt64(min(max(0, start.milliseconds), Self.latestStart)) * 1000
        self.beginning = beginning
        state = Mutex(State(last: beginning))
    }

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
    package var last: UInt64 { state.withLock { $0.events.last?.id ?? 0 } }

    /// Returns the stored events after number `id`; see ``batch(after:)``.
    package func events(after id: UInt64) -> [ControlEvent] { batch(after: id).events }

    /// Returns the stored events after number `id`, and how many events between `id` and the first of them are not
    /// stored any more. If `id` is smaller or larger than all numbers of this run, it belongs to another run, and all
    /// events of this run come after it.
    package func batch(after id: UInt64) -> (events: [ControlEvent], missed: UInt64) {
        state.withLock { state in
            let known = (beginning...state.last).contains(id) ? id : beginning
            let events = Array(state.events.suffix(Int(clamping: state.last - known)))
            return (events: events, missed: state.last - known - UInt64(events.count))
        }
    }
}
