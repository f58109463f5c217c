// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import FanOut

@Suite("The log of failed attempts")
struct FailureLogTests {
    private let lost = OutputFailure(.lost, step: "send", reason: "connection reset")
    private let away = OutputFailure(.unreachable, step: "connect", reason: "connection refused")

    @Test("A server that never answers is logged once, then once a minute with the number of failures")
    func deadTarget() {
        var log = FailureLog()
        var lines: [Int: FailureLog.Line] = [:]
        for attempt in 0..<180 {
            let line = log.note(away, of: attempt, at: .seconds(Double(attempt)))
            if line != .counted { lines[attempt] = line }
        }
        #expect(lines == [0: .named, 60: .summed(61), 120: .summed(121)])
        #expect(log.accepted(180, at: .seconds(180)) == 180)
    }

    @Test("Each time an output goes off air this is logged, and so is the first failure of another kind after it")
    func loss() {
        var log = FailureLog()
        #expect(log.accepted(1, at: 0) == 0)
        for round in 1...3 {
            let now = MonotonicInstant.seconds(Double(round) * 10)
            #expect(log.note(lost, of: round, at: now) == .named)
            #expect(log.note(away, of: 100, at: now + .seconds(1)) == .named)
            #expect(log.note(away, of: 101, at: now + .seconds(2)) == .counted)
            #expect(log.accepted(round + 1, at: now + .seconds(3)) == 3)
        }
    }

    @Test("If a server accepts each stream and soon drops it, this is logged about once a minute")
    func accepting() {
        var log = FailureLog()
        var named = 0
        for attempt in 0..<100 {
            let now = MonotonicInstant.seconds(Double(attempt) * 2)
            _ = log.accepted(attempt, at: now)
            if log.note(lost, of: attempt, at: now + .seconds(1)) != .counted { named += 1 }
        }
        #expect(named == 4)
    }

    @Test("Failed connections to the primary while the backup is on air are summarized in the log")
    func looks() {
        var log = FailureLog()
        #expect(log.note(away, of: 1, at: 0) == .named)
        #expect(log.accepted(2, at: .seconds(1)) == 1)
        #expect(log.note(away, of: 3, at: .seconds(16)) == .counted)
        #expect(log.note(away, of: 4, at: .seconds(61)) == .summed(3))
    }
}
