// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Upload

@Suite("Schedule of upload retries")
struct RetryScheduleTests {
    private var schedule = RetrySchedule()

    private func seconds(_ value: Double) -> MonotonicInstant { .zero + .seconds(value) }

    @Test("A file whose upload always fails has its own retry interval of up to five minutes while other files succeed")
    mutating func ownWait() {
        var now = MonotonicInstant.zero
        for _ in 1...20 {
            schedule.noteFailedTry(of: "bad", at: now)
            schedule.noteSuccess(of: "good")
            #expect(schedule.pause(at: now) == nil, "what is handed over elsewhere needs no pause")
            let rest = schedule.rest(at: now)
            #expect(schedule.next(at: now) == nil && rest ?? .zero > .zero)
            now += rest ?? .zero
            #expect(schedule.next(at: now) == "bad" && schedule.rest(at: now) == .zero)
        }
        schedule.noteFailedTry(of: "bad", at: now)
        #expect(schedule.rest(at: now) == .seconds(300) && schedule.tries(of: "bad") == 21)
    }

    @Test("While every upload fails all files wait together, so that an unreachable remote is tried less often")
    mutating func gate() {
        for number in 0..<16 { schedule.noteFailedTry(of: "\(number)", at: 0) }
        #expect(schedule.pause(at: 0) == .seconds(300) && schedule.failedTries == 16)
        #expect(schedule.tried.count == 16 && schedule.rest(at: 0) == .seconds(1))
        schedule.hurry()
        #expect(schedule.pause(at: 0) == nil && schedule.rest(at: 0) == .zero && schedule.failedTries == 0)
        for number in schedule.tried { schedule.noteFailedTry(of: number, at: 0) }
        #expect(schedule.rest(at: 0) == .seconds(1), "an operator's word begins with short waits again")
    }

    @Test("While every upload fails each file is tried in turn, not only the one that fails first")
    mutating func turns() {
        for name in ["a", "b", "c"] { schedule.noteFailedTry(of: name, at: 0) }
        var (now, turns): (MonotonicInstant, [String: Int]) = (.zero, [:])
        for _ in 1...90 {
            now += max(schedule.pause(at: now) ?? .zero, schedule.rest(at: now) ?? .zero)
            guard let name = schedule.next(at: now) else { continue }
            turns[name, default: 0] += 1
            schedule.noteFailedTry(of: name, at: now)
        }
        #expect(turns == ["a": 30, "b": 30, "c": 30])
    }

    @Test("A file counts as failing from its first failed upload until it succeeds or is postponed")
    mutating func failing() {
        #expect(schedule.failing.files == 0 && schedule.failing.since == nil)
        schedule.noteFailedTry(of: "a", at: seconds(1))
        schedule.noteFailedTry(of: "b", at: seconds(2))
        schedule.noteFailedTry(of: "a", at: seconds(3))
        schedule.noteFailedTry(of: nil, at: seconds(4))
        #expect(schedule.failing.files == 2 && schedule.failing.since == seconds(1))
        schedule.noteFailedTry(of: "a", isLater: true, at: seconds(5))
        #expect(schedule.failing.files == 1 && schedule.failing.since == seconds(2))
        schedule.noteSuccess(of: "b")
        #expect(schedule.failing.files == 0 && schedule.tried == ["a"])
    }
}
