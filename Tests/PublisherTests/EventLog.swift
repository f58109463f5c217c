// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Synchronization

@testable import Publisher

/// Records the events that an attempt reported.
final class EventLog: Sendable {
    private let events = Mutex<[AttemptEvent]>([])

    func note(_ event: AttemptEvent) { events.withLock { $0.append(event) } }

    var all: [AttemptEvent] { events.withLock { $0 } }

    var notices: [String] {
        all.compactMap { if case .notice(let text) = $0 { text } else { nil } }
    }

    var failure: OutputFailure? {
        all.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }.first
    }

    var isAccepted: Bool { count { if case .accepted = $0 { true } else { false } } == 1 }
    var isDrained: Bool { count { if case .drained = $0 { true } else { false } } == 1 }

    /// How many times the attempt reported that it waits for a caller.
    var waits: Int { count { if case .awaitsCallers = $0 { true } else { false } } }

    func count(where isMeant: (AttemptEvent) -> Bool) -> Int { all.count(where: isMeant) }
}
