// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

/// Tests how much each check of retention reads, and about which files it asks the vetoes.
@Suite struct RetentionWorkTests {
    private final class CountingVeto: RetentionVeto {
        let asked = Mutex(0)
        func mayDelete(_ fileName: String) -> Bool {
            asked.withLock { $0 += 1 }
            return true
        }
    }

    @Test(arguments: [10, 1000, 50_000])
    func `A retention check reads and examines a bounded number of files, however many there are`(files: Int) throws {
        let temporary = try TemporaryDirectory()
        for number in 1...files {
            let name = SegmentName(channel: "test", start: UTCTime(milliseconds: 1_795_269_790_000), sequence: number)
            let file = open(temporary.path(name.closed), O_CREAT | O_WRONLY, 0o644)
            try #require(file >= 0)
            close(file)
        }
        let (clock, veto) = (ManualClock(), CountingVeto())
        let retention = Retention(
            directory: try .prepare(temporary.path), channel: "test",
            rules: RetentionRules(maximumAge: .seconds(100 * 3600), minimumAge: .zero), leastFree: 0, vetoes: [veto],
            clock: clock, isConfirmed: { _ in true }, logger: quiet)
        retention.check()
        #expect(retention.status.files == files && retention.status.heldFiles == 0)
        for _ in 0..<3 {
            let (before, asked) = (retention.work.read, veto.asked.withLock { $0 })
            clock.advance(by: .seconds(60))
            retention.check()
            let read = retention.work.read
            #expect(read.files > before.files, "no look was due")
            #expect(read.files - before.files <= SegmentInventory.mostFiles + SegmentInventory.mostEntries)
            #expect(read.entries - before.entries <= SegmentInventory.mostEntries)
            #expect(veto.asked.withLock { $0 } - asked <= 2 * VetoAnswers.most)
            #expect(retention.status.files == files && retention.status.heldFiles == 0)
        }
    }

    /// Simulates one check of the files whose names are the numbers in `files`; returns the files that may be deleted.
    private func look(
        _ answers: inout VetoAnswers, _ files: Range<Int>, held: Set<String>
    ) -> (free: [String], asked: Int) {
        let before = answers.asked
        answers.begin()
        let free = files.map(String.init).filter { answers.mayDelete($0) { !held.contains($0) } }
        answers.end()
        return (free, answers.asked - before)
    }

    @Test
    func `The first retention check examines all files, and later ones examine the oldest and some others in turn`() {
        var answers = VetoAnswers()
        let files = 0..<5000
        let first = look(&answers, files, held: ["3", "4000"])
        #expect(first.free.count == 4998 && first.asked == 5000)
        // Each check asks about the oldest files.
        let second = look(&answers, files, held: ["4000"])
        #expect(second.free.contains("3") && !second.free.contains("4000"))
        #expect(second.asked == 2 * VetoAnswers.most)
        // The other files are asked about in parts, so after as many checks as there are parts, each file has been
        // asked about.
        for _ in 0..<files.count / VetoAnswers.most { _ = look(&answers, files, held: []) }
        let last = look(&answers, files, held: [])
        #expect(last.free.count == files.count)
    }

    @Test func `Before a file is deleted it is examined again`() {
        var answers = VetoAnswers()
        _ = look(&answers, 0..<5000, held: [])
        _ = look(&answers, 0..<5000, held: [])
        var asked: [String] = []
        let refuse = { (name: String) in
            asked.append(name)
            return false
        }
        let (oldest, newest) = (answers.renew("0", refuse), answers.renew("4999", refuse))
        #expect(!oldest && !newest)
        #expect(asked == ["0", "4999"])
        // The next check uses the new answer.
        let third = look(&answers, 0..<5000, held: [])
        #expect(!third.free.contains("4999"))
    }

    @Test func `If there are few files, each retention check examines all of them`() {
        var answers = VetoAnswers()
        for held in 0..<500 {
            let free = look(&answers, 0..<500, held: ["\(held)"]).free
            #expect(free.count == 499 && !free.contains("\(held)"))
        }
    }
}
