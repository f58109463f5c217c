// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Networking
import Synchronization
import TestSupport
import Testing

@testable import Publisher

@Suite struct AttemptReportTests {
    @Test("A connection attempt reports a limited number of notices about its peers, but all other events")
    func limit() {
        let (clock, events) = (ManualClock(), EventLog())
        let report = AttemptReport(clock: clock) { events.note($0) }
        for number in 0..<100 { report.tell(.notice("receiver \(number) called")) }
        for _ in 0..<100 { report.tell(.wantsKeyframe) }
        #expect(events.notices.count == NoticeLimit.messages + 1)
        #expect(events.notices.last?.contains("left out") == true)
        #expect(events.count { if case .wantsKeyframe = $0 { true } else { false } } == 100)
        clock.advance(by: .seconds(61))
        report.tell(.notice("later"))
        #expect(events.notices.last == "later")
    }

    @Test("A connection attempt reports its end once, and no event after that or after it was silenced")
    func end() {
        let events = EventLog()
        let report = AttemptReport { events.note($0) }
        report.end(.drained)
        report.end(.drained)
        report.tell(.accepted)
        #expect(events.all.count == 1 && report.isOver)
        let silent = AttemptReport { events.note($0) }
        #expect(silent.silence())
        silent.end(.drained)
        #expect(events.all.count == 1)
    }
}
