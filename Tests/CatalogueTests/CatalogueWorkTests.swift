// SPDX-License-Identifier: Apache-2.0

import GRDB
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// How much the catalogue writes for one more file. The gaps that it finds must equal those that are found from all
/// files.
@Suite struct CatalogueWorkTests {
    private static let frame: Int64 = 40_000_000
    private static let second: Int64 = 1_000_000_000

    private func segment(_ number: Int, start: Int64, ending: SegmentEnding = .error) -> CatalogueSegment {
        let begin = ProgramInstant(nanoseconds: start)
        return CatalogueSegment(
            record: SegmentRecord(
                fileName: "test_\(number).mp4", channel: "test", sequence: number,
                start: UTCTime(milliseconds: 1_795_269_790_000 + start / 1_000_000), programStart: begin,
                programEnd: begin + .seconds(1), frames: 25, audioSamples: 48_000, bytes: 1000, ending: ending, run: "r"
            ))
    }

    private func told(_ from: Int64, _ to: Int64) -> CatalogueGap {
        CatalogueGap(
            channel: "test", run: "r", start: 1_795_269_790_000 + from / 1_000_000,
            from: ProgramInstant(nanoseconds: from), to: ProgramInstant(nanoseconds: to),
            frames: Int((to - from) / Self.frame), cause: "told", isTold: true)
    }

    private func changes(_ store: CatalogueStore) throws -> Int { try store.read { $0.totalChangesCount } }

    // Regression: for each closed file, all gaps of its run were removed and found again.
    @Test(arguments: [10, 1000])
    func `A new file or gap changes no more catalogue rows after 1000 files than after ten`(files: Int) throws {
        let store = try CatalogueStore()
        let rows = (0..<files).map { segment($0, start: 2 * Self.second * Int64($0)) }
        try store.put(rows, living: ["r"])
        // A second is missing after each file. After the last file, the length of the gap is unknown.
        #expect(try store.gaps().count == files)
        var before = try changes(store)
        let end = 2 * Self.second * Int64(files)
        try store.put([segment(files, start: end)], living: ["r"])
        #expect(try store.gaps().count == files + 1)
        #expect(try changes(store) - before <= 5)
        before = try changes(store)
        try store.put(told(end - Self.second, end))
        #expect(try store.gaps().count == files + 1)
        #expect(try changes(store) - before <= 5)
    }

    @Test
    func `After any new files, gaps and deletions the catalogue's gaps equal those found again from all files`()
        throws
    {
        var random = SeededRandom()
        for _ in 0..<30 {
            let store = try CatalogueStore()
            var (place, kept): (Int64, [Int]) = (0, [])
            for number in 0..<30 {
                let lost = Int64.random(in: 0...2, using: &random) * Self.second
                if lost > 0, Bool.random(using: &random) {
                    // The recorder can report the gap in parts, and leave some of its frames out.
                    var places: Set<Int64> = [0, lost]
                    for _ in 0..<Int.random(in: 0...3, using: &random) {
                        places.insert(Int64.random(in: 0...lost / Self.frame, using: &random) * Self.frame)
                    }
                    let sorted = places.sorted()
                    for (from, to) in zip(sorted, sorted.dropFirst())
                    where places.count == 2 || Bool.random(using: &random) {
                        try store.put(told(place + from, place + to))
                    }
                }
                let ending = random.pick([SegmentEnding.rotate, .error, .silent, .disk])
                try store.put([segment(number, start: place + lost, ending: ending)], living: ["r"])
                kept.append(number)
                place += lost + Self.second
                if Int.random(in: 0..<4, using: &random) == 0 {
                    let gone = kept.remove(at: Int.random(in: 0..<kept.count, using: &random))
                    try store.noteDeletion(of: "test_\(gone).mp4", at: UTCTime(milliseconds: 1_795_269_800_000))
                }
                let found = try store.gaps()
                try store.findGaps(living: ["r"])
                #expect(try store.gaps() == found)
            }
        }
    }

    // Regression: a gap that was found was dropped whole if the recorder had reported a part of it.
    @Test(arguments: [false, true])
    func `The parts of a found gap that the recorder did not report are listed`(isReportedFirst: Bool) throws {
        let store = try CatalogueStore()
        let files = [segment(0, start: 0), segment(1, start: 11 * Self.second)]
        // Between the files, which end after one and twelve seconds, 10 s are missing. The recorder reports two parts.
        let reported = [told(3 * Self.second, 5 * Self.second), told(6 * Self.second, 8 * Self.second)]
        if isReportedFirst { for gap in reported { try store.put(gap) } }
        try store.put(files, living: ["r"])
        if !isReportedFirst { for gap in reported { try store.put(gap) } }
        let expected = [
            (1, 3, 50, false), (3, 5, 50, true), (5, 6, 25, false), (6, 8, 50, true), (8, 11, 75, false),
        ].map { "\($0.0) s to \($0.1) s: \($0.2) \($0.3)" }
        func listed() throws -> [String] {
            try store.gaps().filter { $0.to != nil }.map { gap in
                let (from, to) = (gap.from.milliseconds, gap.to?.milliseconds ?? 0)
                #expect(gap.start == 1_795_269_790_000 + from)
                return "\(from / 1000) s to \(to / 1000) s: \(gap.frames ?? -1) \(gap.isTold)"
            }
        }
        #expect(try listed() == expected)
        try store.findGaps(living: [])
        #expect(try listed() == expected)
        // When the recorder reports the rest as well, nothing of the found gap is left.
        try store.put(told(Self.second, 11 * Self.second))
        #expect(try store.gaps().filter { $0.to != nil }.allSatisfy(\.isTold))
    }

    @Test func `If the end of a found gap is not known, the part before the recorder's gap is listed`() throws {
        let store = try CatalogueStore()
        try store.put([segment(0, start: 0)], living: [])
        try store.put(told(2 * Self.second, 5 * Self.second))
        let gaps = try store.gaps()
        #expect(gaps.map(\.isTold) == [false, true] && gaps.map(\.frames) == [25, 75])
        try store.findGaps(living: [])
        #expect(try store.gaps() == gaps)
    }

    @Test func `Frames that a file contains after its first missing frame are not listed as missing`() throws {
        let store = try CatalogueStore()
        var file = segment(0, start: 0)
        // The last two of the 25 frames follow three missing ones.
        file.wholeEnd = .zero + .milliseconds(920)
        file.lateFrames = 2
        try store.put([file, segment(1, start: 3 * Self.second)], living: ["r"])
        try store.put(told(1_040_000_000, 3 * Self.second))
        #expect(try store.gaps().filter { $0.to != nil }.map(\.frames) == [1, 49])
        try store.put(told(1_000_000_000, 3 * Self.second))
        #expect(try store.gaps().filter { $0.to != nil && !$0.isTold }.isEmpty)
    }

    @Test
    func `The catalogue keeps the row of a deleted file only while an older file of the same run exists`() throws {
        let store = try CatalogueStore()
        let rows = (0..<6).map { segment($0, start: Self.second * Int64($0)) }
        try store.put(rows, living: ["r"])
        let time = UTCTime(milliseconds: 1_795_269_800_000)
        for number in [2, 4, 1] { try store.noteDeletion(of: "test_\(number).mp4", at: time) }
        // The second and third files are adjacent, and so have one row.
        #expect(try store.deletedSegments().map(\.sequence) == [1, 4])
        try store.noteDeletion(of: "test_0.mp4", at: time)
        #expect(try store.deletedSegments().map(\.sequence) == [4])
        try store.noteDeletion(of: "test_5.mp4", at: time)
        try store.noteDeletion(of: "test_3.mp4", at: time)
        #expect(try store.deletedSegments().isEmpty)
    }
}
