// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Status

/// What waits for one webhook, and when it is tried next: a pure machine.
///
/// An event waits until the receiver takes it. Where more wait than there is room for, the oldest are left out. One that
/// the receiver has understood and refuses again and again is left out too, so that it does not hold up the others.
struct WebhookQueue {
    /// What became of an attempt.
    enum Outcome: Equatable {
        case delivered
        /// The receiver does not answer, or cannot take the event now.
        case failed
        /// The receiver does not want this event.
        case refused
    }

    /// The largest number of events that wait.
    static let limit = 500
    /// Attempts of an event that the receiver refuses.
    static let refusals = 5
    private static let longestWait = 60

    private var events = Deque<ControlEvent>()
    private var refused = 0
    /// Attempts in a row that failed.
    private(set) var failures = 0
    /// Events left out since the last one that was delivered.
    private(set) var leftOut: UInt64 = 0
    private(set) var delivered: UInt64 = 0
    private(set) var failed: UInt64 = 0
    private(set) var leftOutInAll: UInt64 = 0

    /// The event to be tried now; nil if none waits.
    var next: ControlEvent? { events.first }
    /// How many wait.
    var count: Int { events.count }

    /// Takes `new` events in. `missed` is the number of events that the log dropped before.
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

    /// What became of an attempt to deliver `event`, which said that `told` events were left out. Returns how long to wait
    /// before the next: from 1 s on, twice as long each time, up to a minute.
    mutating func tried(_ event: ControlEvent, _ outcome: Outcome, told: UInt64) -> Duration {
        let isFirst = events.first?.id == event.id
        if outcome == .delivered {
            if isFirst { events.removeFirst() }
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
