// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import Status
import Testing

@testable import Control

@Suite("The event log")
struct EventLogTests {
    private static let start = UTCTime(milliseconds: 1_795_269_790_123)
    /// The number before the first event of the log.
    private static let beginning: UInt64 = 1_795_269_790_123_000

    private let log = EventLog(startedAt: Self.start)

    private func add(_ count: Int, to log: EventLog? = nil) {
        for index in 0..<count {
            (log ?? self.log).append(ControlEvent(channel: "main", level: .info, kind: .output, text: "event \(index)"))
        }
    }

    /// The numbers of the events in `log` after number `id`, counted from the beginning of the run.
    private func numbers(after id: UInt64, in log: EventLog? = nil) -> [UInt64] {
        (log ?? self.log).events(after: id).map { $0.id - Self.beginning }
    }

    @Test("A client that reconnects to the event stream with the ID of its last event gets all newer events once")
    func resumed() {
        #expect(log.events(after: 0).isEmpty && log.last == 0)
        add(3)
        #expect(numbers(after: 0) == [1, 2, 3])
        add(2)
        #expect(log.events(after: Self.beginning + 3).map(\.text) == ["event 0", "event 1"])
        #expect(log.events(after: Self.beginning + 5).isEmpty && log.last == Self.beginning + 5)
    }

    @Test("The event log keeps the newest 500 events, and tells a client how many more it missed")
    func bounded() {
        add(1200)
        #expect(numbers(after: 0) == Array(701...1200))
        #expect(log.events(after: Self.beginning + 100).count == 500)
        #expect(numbers(after: Self.beginning + 1199) == [1200])
        #expect(log.batch(after: 0).missed == 700 && log.batch(after: Self.beginning + 100).missed == 600)
        #expect(log.batch(after: Self.beginning + 700).missed == 0)
    }

    @Test("A client that reconnects to the event stream with an ID of an earlier run gets all events of the new run")
    func restarted() {
        add(500)
        for milliseconds in [1, 5, 60_000, 86_400_000] as [Int64] {
            let next = EventLog(startedAt: UTCTime(milliseconds: Self.start.milliseconds + milliseconds))
            add(3, to: next)
            let (events, missed) = next.batch(after: log.last)
            #expect(events.map(\.text) == ["event 0", "event 1", "event 2"] && missed == 0, "\(milliseconds) ms")
            #expect(events.allSatisfy { $0.id > log.last })
        }
    }

    @Test("If the clock was set back between two runs, a client of the first run gets all events of the second run")
    func clockSetBack() {
        add(500)
        for milliseconds in [0, 1, Self.start.milliseconds - 3_600_000] {
            let next = EventLog(startedAt: UTCTime(milliseconds: milliseconds))
            add(3, to: next)
            let (events, missed) = next.batch(after: log.last)
            #expect(events.count == 3 && missed == 0 && next.last < log.last, "\(milliseconds) ms")
            // The client now knows these numbers, and gets only later events.
            #expect(next.events(after: next.last).isEmpty)
        }
    }

    @Test("Event numbers can be read exactly as floating-point numbers, whatever the time of the clock is")
    func exact() {
        for milliseconds in [Int64.min, -1, 0, Self.start.milliseconds, 253_402_300_799_999, .max] {
            let log = EventLog(startedAt: UTCTime(milliseconds: milliseconds))
            add(2, to: log)
            let ids = log.events(after: 0).map(\.id)
            #expect(ids.count == 2 && ids.allSatisfy { UInt64(exactly: Double($0)) == $0 && $0 < 1 << 53 })
        }
    }
}
