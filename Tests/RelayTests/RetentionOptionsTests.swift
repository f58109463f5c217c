// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Channel
import Media
import Segmenter
import Testing

@testable import Relay

@Suite("Retention flags")
struct RetentionOptionsTests {
    private func rules(_ flags: String) throws -> RetentionRules? {
        let arguments = ["--record", "dir"] + flags.split(separator: " ").map(String.init)
        return try RunCommand.parse(arguments).channelConfiguration().recording?.retention
    }

    @Test("Without a retention flag no recording is deleted")
    func none() throws { #expect(try rules("") == nil) }

    @Test("Each retention limit can be used alone, and the minimum age is an hour by default")
    func limits() throws {
        #expect(try rules("--keep 72h") == RetentionRules(maximumAge: .seconds(72 * 3600)))
        #expect(try rules("--keep-size 500GB") == RetentionRules(maximumBytes: 500_000_000_000))
        #expect(try rules("--keep-free 10%") == RetentionRules(minimumFree: .percent(10)))
        #expect(
            try rules("--keep-free 50GB --keep-min 0s")
                == RetentionRules(minimumFree: .bytes(50_000_000_000), minimumAge: .zero))
    }

    @Test(
        "Retention flags that have no effect are refused",
        arguments: [
            (["--record", "d", "--keep-min", "2h"], "--keep-min limits"), (["--keep", "72h"], "give --record too"),
            (["--record", "d", "--keep", "72h", "--record-name", "{start}"], "put {channel} into --record-name"),
        ])
    func useless(flags: [String], reason: String) {
        do {
            _ = try RunCommand.parse(flags + ["--rtmp", "rtmp://localhost/live/key"])
            Issue.record("\(flags) were taken")
        } catch {
            #expect(RunCommand.message(for: error).contains(reason))
        }
    }

    @Test("Each contradiction between retention flags is reported in one sentence")
    func contradictions() {
        func text(
            _ rules: RetentionRules, _ length: SegmentLength = .duration(.seconds(1800)), capacity: Int64? = 1 << 40,
            reserve: ByteSize? = nil
        ) -> String? {
            let budget = StorageBudget(
                videoBitrate: 8_000_000, audioBitrate: 0, duration: .zero, reserve: reserve, capacity: capacity)
            return rules.contradiction(length: length, budget: budget)
        }
        #expect(text(.init(maximumAge: .seconds(10)))?.contains("shorter than one file (about 30m)") == true)
        #expect(text(.init(maximumAge: .seconds(10), minimumAge: .zero), .bytes(1 << 30))?.contains("one file") == true)
        #expect(text(.init(maximumAge: .seconds(1800)))?.contains("--keep-min 1h") == true)
        #expect(text(.init(maximumBytes: 1_000_000_000))?.contains("less than one file (about 1.8 GB)") == true)
        #expect(text(.init(maximumBytes: 1_000_000_000), .bytes(2_000_000_000))?.contains("2.0 GB") == true)
        #expect(text(.init(minimumFree: .bytes(1 << 41)))?.contains("more than the disk holds") == true)
        #expect(text(.init(maximumAge: .seconds(7200), maximumBytes: 2_000_000_000, minimumFree: .percent(10))) == nil)
        #expect(text(.init(minimumFree: .bytes(1 << 41)), capacity: nil) == nil)
        // If a tenth of a card of 2 GB is kept free, a file of 1.8 GB does not fit, and an hour of recording does not
        // fit at all.
        let tenth = RetentionRules(minimumFree: .percent(10))
        let seldom = text(tenth, capacity: 2_000_000_000)
        #expect(seldom?.contains("--keep-free 10% leaves no room for one file") == true, "\(seldom ?? "")")
        let hour = text(tenth, .duration(.seconds(60)), capacity: 2_000_000_000)
        #expect(hour?.contains("--keep-min 1h keeps about 3.6 GB") == true, "\(hour ?? "")")
        let ring = RetentionRules(minimumFree: .percent(10), minimumAge: .zero)
        #expect(text(ring, .duration(.seconds(60)), capacity: 2_000_000_000) == nil)
        #expect(text(ring, .duration(.seconds(60)), capacity: 1_000_000_000) == nil)
        let reserved = text(
            ring, .duration(.seconds(60)), capacity: 1_000_000_000, reserve: ByteSize(bytes: 900_000_000))
        #expect(reserved?.contains("--disk-reserve 900.0 MB leaves no room for one file") == true)
    }
}
