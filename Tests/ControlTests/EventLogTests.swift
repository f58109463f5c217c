// SPDX-License-Identifier: Apache-2.0

import Media
import Status
import Testing

@testable import Control

@Suite("The event log")
struct EventLogTests {
    private let log = EventLog()

    private func add(_ count: Int) {
        for index in 0..<count {
            log.append(ControlEvent(channel: "main", level: .info, kind: .output, text: "event \(index)"))
        }
    }

    @Test("A client that reconnects to the event stream with the ID of its last event gets all newer events once")
    func resumed() {
        #expect(log.events(after: 0).isEmpty && log.last == 0)
        add(3)
        #expect(log.events(after: 0).map(\.id) == [1, 2, 3])
        add(2)
        #expect(log.events(after: 3).map(\.text) == ["event 0", "event 1"])
        #expect(log.events(after: 5).isEmpty)
    }

    @Test("The event log keeps the newest 500 events, and a client that missed more of them gets these 500")
    func bounded() {
        add(1200)
        #expect(log.events(after: 0).map(\.id) == Array(701...1200))
        #expect(log.events(after: 100).count == 500)
        #expect(log.events(after: 1199).map(\.id) == [1200])
    }

    @Test("A client that reconnects to the event stream with an ID of an earlier run gets all stored events")
    func restarted() {
        add(2)
        #expect(log.events(after: 77).map(\.id) == [1, 2])
    }
}
