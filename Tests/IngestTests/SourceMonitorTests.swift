// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Ingest

@Suite("Logs and status of a source's monitor")
struct SourceMonitorTests {
    private let failure = IngestError.unreadable(input: "in", reason: "it is broken")

    @Test("An interruption of an input is always in the status, and logged only as often as the schedule allows")
    func interruption() {
        let log = CollectedLog()
        let monitor = SourceMonitor(logger: log.logger)
        var schedule = ReopenSchedule()
        for _ in 1...3 {
            let delay = schedule.fail(after: .zero)
            monitor.noteInterruption("in", failure, schedule, delay)
        }
        #expect(log.lines.count == 2)
        #expect(log.lines.allSatisfy { $0.contains("input=in") && $0.contains("it is broken") })
        #expect(monitor.status.state == .waiting)
        #expect(monitor.status.lastError == failure.description)
    }

    @Test("An input that ended without a failure is named in the status's last error")
    func endedInput() {
        let log = CollectedLog()
        let monitor = SourceMonitor(logger: log.logger)
        var schedule = ReopenSchedule()
        let delay = schedule.fail(after: .zero)
        monitor.noteInterruption("in", nil, schedule, delay)
        #expect(monitor.status.lastError == "The input in ended.")
    }

    @Test("If a source is stopped, an error of its input counts as no failure and is not logged")
    func stopped() {
        let log = CollectedLog()
        let monitor = SourceMonitor(logger: log.logger)
        monitor.stop()
        var schedule = ReopenSchedule()
        let delay = schedule.fail(after: .zero)
        monitor.noteInterruption("in", failure, schedule, delay)
        #expect(monitor.noteEnd(failure) == nil)
        #expect(log.lines.isEmpty)
        #expect(monitor.status.state == .ended)
    }

    @Test("If a source ends with a failure, this is logged and is in the status")
    func failed() {
        let log = CollectedLog()
        let monitor = SourceMonitor(logger: log.logger)
        #expect(monitor.noteEnd(failure) != nil)
        #expect(log.lines.count == 1)
        #expect(monitor.status.state == .failed)
        #expect(monitor.status.lastError == failure.description)
    }

    @Test("Each reopening of an input is counted")
    func openAgain() {
        let monitor = SourceMonitor()
        monitor.noteOpenAgain("in", isWorthLogging: false)
        monitor.noteOpenAgain("in", isWorthLogging: true)
        #expect(monitor.status.reopens == 2)
    }
}
