// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import FanOut

@Suite("The record of an output's failures")
struct FailureRecordTests {
    private let away = OutputFailure(.unreachable, step: "connect", reason: "connection refused")
    private let lost = OutputFailure(.lost, step: "send", reason: "connection reset")
    private let refused = OutputFailure(.refused, step: "publish", reason: "bad key")

    @Test("An address that refused the stream is not tried again before its minute is over")
    func refusals() {
        var record = FailureRecord(policy: RetryPolicy(hasBackup: true))
        let first = record.note(refused, at: .primary, now: 0, liveFor: .zero, jitter: 0)
        #expect(first == .init(endpoint: .backup, due: .seconds(1), isLast: false))
        let second = record.note(refused, at: .backup, now: .seconds(1), liveFor: .zero, jitter: 0)
        #expect(second == .init(endpoint: .primary, due: .seconds(60), isLast: false))
    }

    @Test("An operator's retry makes an output forget that its primary refused it")
    func reset() {
        var record = FailureRecord(policy: RetryPolicy(hasBackup: true))
        _ = record.note(refused, at: .primary, now: 0, liveFor: .zero, jitter: 0)
        record.reset()
        #expect(record.failuresInRow == 0)
        let verdict = record.note(refused, at: .backup, now: .seconds(1), liveFor: .zero, jitter: 0)
        #expect(verdict == .init(endpoint: .primary, due: .seconds(2), isLast: false))
    }

    @Test("Half a minute on air restores all retries of an output whose number of retries is limited")
    func limit() {
        var record = FailureRecord(policy: RetryPolicy(attemptLimit: 1))
        #expect(!record.note(away, at: .primary, now: 0, liveFor: .zero, jitter: 0).isLast)
        #expect(record.note(away, at: .primary, now: 0, liveFor: .zero, jitter: 0).isLast)
        #expect(record.failuresInRow == 2)
        #expect(!record.note(lost, at: .primary, now: .seconds(40), liveFor: .seconds(30), jitter: 0).isLast)
        #expect(record.failuresInRow == 1)
    }

    @Test("The interval of probes grows up to 4 min each time the primary is lost soon after a return to it")
    func probes() {
        var record = FailureRecord(policy: RetryPolicy(hasBackup: true))
        var intervals: [Duration] = []
        for round in 1...6 {
            record.returnedToPrimary()
            _ = record.note(lost, at: .primary, now: .seconds(Double(round) * 100), liveFor: .seconds(5), jitter: 0)
            intervals.append(record.primaryInterval)
        }
        #expect(intervals == [30, 60, 120, 240, 240, 240].map { .seconds($0) })
        record.returnedToPrimary()
        _ = record.note(lost, at: .primary, now: .seconds(1000), liveFor: .seconds(30), jitter: 0)
        #expect(record.primaryInterval == .seconds(15))
    }

    @Test(
        "An output retries each second after it was on air for a while, but not again after a moment on air",
        arguments: [(1.0, [1000, 1500, 2250]), (3.0, [1000, 1000, 1000])])
    func pastOnAir(seconds: Double, waits: [Int64]) {
        var record = FailureRecord(policy: RetryPolicy())
        record.wasLive(for: .seconds(1), at: .seconds(10))
        record.wasLive(for: .seconds(seconds), at: .seconds(100))
        let now = MonotonicInstant.seconds(110)
        let dues = waits.map { _ in record.note(away, at: .primary, now: now, liveFor: .zero, jitter: 0).due }
        #expect(dues.map { ($0 - now).inMilliseconds } == waits)
    }
}
