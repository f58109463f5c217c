// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Segmenter

@Suite struct PromisedSpaceTests {
    private func policy(bitrate: Int = 8_000_000) -> StoragePolicy {
        StoragePolicy(
            directory: "d",
            budget: StorageBudget(
                videoBitrate: bitrate, audioBitrate: 0, duration: .zero, reserve: ByteSize(bytes: 100_000_000)),
            warning: .seconds(60))
    }

    @Test func `A recording stops to leave space for another recording, and resumes when the other needs less`() {
        var policy = policy()
        #expect(policy.update(.free(700_000_000), written: 0, promised: 500_000_000, now: 1).isEmpty)
        let actions = policy.update(.free(600_000_000), written: 0, promised: 500_000_000, now: 2)
        #expect(actions.count == 1 && policy.state == .stopped)
        #expect(policy.reason?.hasSuffix(" MB for the program") == true, "\(policy.reason ?? "")")
        #expect(policy.update(.free(601_000_000), written: 0, promised: 500_000_000, now: 3).isEmpty)
        #expect(policy.update(.free(601_000_000), written: 0, promised: 300_000_000, now: 4) == [.resume])
    }

    @Test
    func `Files that may be deleted count as space for other recordings, but not as the recording's own reserve`() {
        var policy = policy()
        let retained = RetentionBalance(deletedBytes: 0, reclaimableBytes: 500_000_000)
        #expect(
            policy.update(.free(200_000_000), written: 0, retained: retained, promised: 500_000_000, now: 1).isEmpty)
        #expect(
            policy.update(.free(100_000_000), written: 0, retained: retained, promised: 0, now: 2).count == 1)
    }

    @Test func `The time until the disk is full is the usable space divided by the recording's write rate`() throws {
        var policy = policy(bitrate: 100_000_000)
        _ = policy.update(.free(1_100_000_000), written: 0, promised: 500_000_000, now: 1)
        _ = policy.update(.free(1_100_000_000), written: 10_000_000, promised: 500_000_000, now: 10_000_000_001)
        #expect(abs(try #require(policy.secondsUntilFull) - 500) < 0.01)
    }

    @Test func `The space that a recording still needs decreases with each byte that it writes`() {
        let budget = StorageBudget(videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(100))
        #expect(budget.rest(after: 0) == 102_000_000 && budget.rest(after: 2_000_000) == 100_000_000)
        #expect(budget.rest(after: .max) == 0)
    }
}
