// SPDX-License-Identifier: Apache-2.0

import CFFmpeg
import Testing

@testable import Ingest
@testable import LibAV

@Suite("What is done about failures of reads")
struct ReadErrorsTests {
    private func failure(_ code: Int32) -> AVFailure { AVFailure(operation: "read", subject: "in", code: code) }
    private var damage: AVFailure { failure(relay_averror_invalid_data) }

    @Test("an input that is damaged 100 times in a row is unreadable, and not before")
    func tooMuchDamage() {
        var errors = ReadErrors()
        for _ in 1..<100 { #expect(errors.judge(damage) == .skip) }
        #expect(errors.judge(damage) == .fail)
    }

    @Test("a packet between damaged ones resets the count")
    func success() {
        var errors = ReadErrors()
        for _ in 1..<100 { #expect(errors.judge(damage) == .skip) }
        errors.noteSuccess()
        #expect(errors.judge(damage) == .skip)
    }

    @Test("waiting and being stopped are no damage")
    func noDamage() {
        var errors = ReadErrors()
        for _ in 0..<200 { #expect(errors.judge(failure(relay_averror(EAGAIN))) == .wait) }
        #expect(errors.judge(failure(relay_averror_exit)) == .stop)
        #expect(errors.judge(damage) == .skip)
    }

    @Test("what is not the data's fault ends the reading at once")
    func transportFailure() {
        var errors = ReadErrors()
        #expect(errors.judge(failure(relay_averror(ETIMEDOUT))) == .fail)
    }
}
