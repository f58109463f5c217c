// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

/// Tests ``ClockTrust`` itself; ``ClockTrustTests`` tests what retention does with its answers.
@Suite("How much older files look after a jump of the wall clock")
struct ClockJumpTests {
    private static let hour: Int64 = 3_600_000
    private static let day = 24 * hour
    private static let began: Int64 = 1_800_000_000_000
    /// Files are deleted after 72 hours, and for other reasons not before one hour.
    private static let rules = RetentionRules(maximumAge: .seconds(72 * 3600), minimumAge: .seconds(3600))

    /// Returns a reading after `running` milliseconds, when the wall clock is `ahead` milliseconds ahead.
    private func reading(_ running: Int64, ahead: Int64 = 0, isConfirmed: Bool = false) -> ClockTrust.Reading {
        .init(
            wall: UTCTime(milliseconds: Self.began + running + ahead), now: .zero + .milliseconds(running),
            isConfirmed: isConfirmed)
    }

    /// Returns the stored clock of a run that has just ended and whose clock was right.
    private func seen(isConfirmed: Bool = true) -> RememberedClock {
        RememberedClock(lastSeen: UTCTime(milliseconds: Self.began), isConfirmed: isConfirmed)
    }

    @Test("A jump ahead makes files look older until relay has run for as long as the limit")
    func ahead() {
        var trust = ClockTrust(Self.rules, memory: seen())
        trust.read(reading(0)) { nil }
        let jump = reading(60_000, ahead: 10 * Self.hour)
        trust.read(jump) { nil }
        for isOwn in [false, true] {
            #expect(trust.lead(.least, isOwn: isOwn, at: jump) == 10 * Self.hour)
            #expect(trust.lead(.greatest, isOwn: isOwn, at: jump) == 10 * Self.hour)
        }
        let later = reading(60_000 + Self.hour, ahead: 10 * Self.hour)
        trust.read(later) { nil }
        #expect(trust.lead(.least, isOwn: false, at: later) == 0)
        #expect(trust.lead(.greatest, isOwn: false, at: later) == 10 * Self.hour)
        let before = reading(59_999 + 72 * Self.hour, ahead: 10 * Self.hour)
        trust.read(before) { nil }
        #expect(trust.lead(.greatest, isOwn: true, at: before) == 10 * Self.hour)
        let end = reading(60_000 + 72 * Self.hour, ahead: 10 * Self.hour)
        trust.read(end) { nil }
        #expect(trust.lead(.greatest, isOwn: true, at: end) == 0)
    }

    @Test("After a step back, only files of this run look older when the clock is set forward again")
    func back() {
        var trust = ClockTrust(Self.rules, memory: seen())
        trust.read(reading(0)) { nil }
        let behind = reading(1000, ahead: -10 * Self.hour)
        trust.read(behind) { nil }
        #expect(trust.lead(.greatest, isOwn: false, at: behind) == 0)
        let right = reading(2000)
        trust.read(right) { nil }
        #expect(trust.lead(.greatest, isOwn: false, at: right) == 0)
        #expect(trust.lead(.greatest, isOwn: true, at: right) == 10 * Self.hour)
    }

    @Test("A difference of up to a minute between two readings is no jump")
    func tolerance() {
        var trust = ClockTrust(Self.rules, memory: seen())
        trust.read(reading(0)) { nil }
        let small = reading(1000, ahead: 60_000)
        trust.read(small) { nil }
        #expect(trust.lead(.greatest, isOwn: true, at: small) == 0)
        let large = reading(2000, ahead: 120_001)
        trust.read(large) { nil }
        #expect(trust.lead(.greatest, isOwn: true, at: large) == 60_001)
    }

    @Test("Without a stored clock, the time since the newest file is believed up to a quarter of the limit")
    func gap() {
        for (hours, believed) in [(Int64(12), true), (18, true), (19, false)] {
            var trust = ClockTrust(Self.rules)
            let first = reading(0, ahead: hours * Self.hour)
            trust.read(first) { UTCTime(milliseconds: Self.began) }
            #expect(trust.lead(.greatest, isOwn: false, at: first) == (believed ? 0 : hours * Self.hour), "\(hours) h")
            #expect(trust.lead(.least, isOwn: false, at: first) == hours * Self.hour)
            #expect(trust.lead(.greatest, isOwn: true, at: first) == 0, "no file of this run has ended yet")
        }
    }

    @Test("The time of the newest file is requested once, and only without a stored clock")
    func newest() {
        var asked = 0
        for memory in [seen(), nil] {
            var trust = ClockTrust(Self.rules, memory: memory)
            for second in Int64(0)..<3 {
                trust.read(reading(second * 1000)) {
                    asked += 1
                    return nil
                }
            }
            #expect(asked == (memory == nil ? 1 : 0))
        }
    }

    @Test("After a month off with a confirmed clock, the limit's extension shrinks by three hours per hour")
    func catchingUp() {
        var trust = ClockTrust(Self.rules, memory: seen())
        let first = reading(0, ahead: 30 * Self.day, isConfirmed: true)
        trust.read(first) { nil }
        #expect(trust.isCatchingUp(at: first) && trust.lead(.greatest, isOwn: false, at: first) == 30 * Self.day)
        #expect(trust.lead(.greatest, isOwn: true, at: first) == 0 && trust.lead(.least, isOwn: false, at: first) == 0)
        let middle = reading(9 * Self.hour, ahead: 30 * Self.day, isConfirmed: true)
        #expect(trust.lead(.greatest, isOwn: false, at: middle) == 30 * Self.day - 27 * Self.hour)
        let end = reading(18 * Self.hour, ahead: 30 * Self.day, isConfirmed: true)
        #expect(!trust.isCatchingUp(at: end) && trust.lead(.greatest, isOwn: false, at: end) == 0)
    }

    @Test("If the last run's clock was not confirmed, a long time off is not believed, even if the clock is now")
    func unconfirmedBefore() {
        var trust = ClockTrust(Self.rules, memory: seen(isConfirmed: false))
        let first = reading(0, ahead: 30 * Self.day, isConfirmed: true)
        trust.read(first) { nil }
        #expect(!trust.isCatchingUp(at: first) && trust.lead(.greatest, isOwn: false, at: first) == 30 * Self.day)
    }

    @Test("A jump is stored for the next run, with the running time for which it still matters")
    func memory() {
        var trust = ClockTrust(Self.rules, memory: seen())
        trust.read(reading(0)) { nil }
        trust.read(reading(0, ahead: 10 * Self.hour)) { nil }
        let last = reading(24 * Self.hour, ahead: 10 * Self.hour)
        trust.read(last) { nil }
        let memory = trust.memory(last)
        #expect(memory.lastSeen == last.wall && !memory.isConfirmed)
        #expect(memory.least == .init() && memory.lag == .init())
        #expect(memory.greatest == .init(length: 10 * Self.hour, left: 48 * Self.hour))

        // The next run begins at once; its running time begins at 0 again.
        var next = ClockTrust(Self.rules, memory: memory)
        for (hours, lead) in [(Int64(0), 10 * Self.hour), (47, 10 * Self.hour), (48, 0)] {
            let reading = ClockTrust.Reading(
                wall: UTCTime(milliseconds: last.wall.milliseconds + hours * Self.hour),
                now: .zero + .milliseconds(hours * Self.hour))
            next.read(reading) { nil }
            #expect(next.lead(.greatest, isOwn: false, at: reading) == lead, "after \(hours) h")
        }
    }
}
