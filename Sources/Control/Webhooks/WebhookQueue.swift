// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Status

/// The waiting events of one webhook, and the time of the next attempt: a pure state machine.
///
/// An event waits until the receiver accepts it. If too many events wait, the oldest are dropped. If the receiver
/// answers but refuses an event repeatedly, that event is dropped, too, so that it does not delay the others.
struct WebhookQueue {
    /// The result of an attempt to deliver an event.
    enum Outcome: Equatable {
        case delivered
        /// The receiver does not answer, or cannot accept the event now.
        case failed
        /// The receiver answered with a status that means that it will not accept this event.
        case refused
    }

    /// The maximum number of waiting events.
    static let limit = 500
    /// How many attempts are made to deliver an event that the receiver refuses.
    static let refusals = 5
    private static let longestWait = 60

    private var events = Deque<ControlEvent>()
    private var refused = 0
    /// The number of consecutive failed attempts.
    private(set) var failures = 0
    /// The number of events that were dropped since the last delivery.
    private(set) var leftOut: UInt64 = 0
    private(set) var delivered: UInt64 = 0
    private(set) var failed: UInt64 = 0
    private(set) var leftOutInAll: UInt64 = 0

    /// The event whose delivery is tried next; nil if no event waits.
    var next: ControlEvent? { events.first }
    /// The number of waiting events.
    var count: Int { events.count }

    /// Adds `new` events. `missed` is the number of events before them that the log has already dropped.
    mutating func append(_ new: some Sequence<ControlEvent>, missed: UInt64 = 0) {
        leaveOut(missed)
        for event in new {
            events.append(event)
            guard events.count > Self.limit else { continue }
            events.removeFirst()
            refused = 0
            leaveOut(1)
        }
    }

    /// Records the result of an attempt to deliver `event`. `told` is the number of dropped events that the message
    /// reported. Returns how long to wait before the next attempt: zero after a delivery; after a failure 1 s at first,
    /// doubling up to a minute.
    mutating func tried(_ event: ControlEvent, _ outcome: Outcome, told: UInt64) -> Duration {
        let isFirst = events.first?.id == event.id
        if outcome == .delivered {
            if isFirst {
                events.removeFirst()
            } else {
                // The queue was full during the attempt, and the event was dropped from it and counted as dropped. The
                // event has arrived nevertheless, so the counts are corrected.
                leftOut -= min(1, leftOut)
                leftOutInAll -= min(1, leftOutInAll)
            }
            (failures, refused) = (0, 0)
            delivered += 1
            leftOut -= min(told, leftOut)
            return .zero
        }
        failures += 1
        failed += 1
        if outcome == .refused, isFirst {
            refused += 1
            if refused >= Self.refusals {
                events.removeFirst()
                refused = 0
                leaveOut(1)
            }
        }
        return .seconds(min(Self.longestWait, 1 << min(failures - 1, 10)))
    }

    private mutating func leaveOut(_ count: UInt64) {
        leftOut += count
        leftOutInAll += count
    }
}
