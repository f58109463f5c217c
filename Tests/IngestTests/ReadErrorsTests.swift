// SPDX-License-Identifier: Apache-2.0

import CFFmpeg
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Handling of failed reads")
struct ReadErrorsTests {
    private func failure(_ code: Int32) -> AVFailure { AVFailure(operation: "read", subject: "in", code: code) }
    private var damage: AVFailure { failure(relay_averror_invalid_data) }

    @Test("An input counts as unreadable after 100 damaged reads in a row, and not before")
    func tooMuchDamage() {
        var errors = ReadErrors()
        for _ in 1..<100 { #expect(errors.judge(damage) == .skip) }
        #expect(errors.judge(damage) == .fail)
    }

    @Test("A packet between damaged reads resets their count")
    func success() {
        var errors = ReadErrors()
        for _ in 1..<100 { #expect(errors.judge(damage) == .skip) }
        errors.noteSuccess()
        #expect(errors.judge(damage) == .skip)
    }

    @Test("Reads without data, and reads of a stopped source, do not count as damaged")
    func noDamage() {
        var errors = ReadErrors()
        for _ in 0..<200 { #expect(errors.judge(failure(relay_averror(EAGAIN))) == .wait) }
        #expect(errors.judge(failure(relay_averror_exit)) == .stop)
        #expect(errors.judge(damage) == .skip)
    }

    @Test("An error of the transport protocol ends reading at once")
    func transportFailure() {
        var errors = ReadErrors()
        #expect(errors.judge(failure(relay_averror(ETIMEDOUT))) == .fail)
    }
}
