// SPDX-License-Identifier: Apache-2.0

import GRDB
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// The cost of an operation on one file, or on a page of files, in catalogues of different sizes.
@Suite struct CatalogueCostTests {
    static let second: Int64 = 1_000_000_000
    static let epoch: Int64 = 1_795_269_790_000
    /// The maximum number of instructions for one operation. A page of 50 rows takes about 1500; one scan of 50,000
    /// rows takes more than 150,000.
    private static let most = 12_000

    /// Returns the file with this number. It lasts a second, and a second is missing after it.
    static func segment(_ number: Int, upload: UploadState? = .done) -> CatalogueSegment {
        let start = ProgramInstant(nanoseconds: 2 * second * Int64(number))
        var segment = CatalogueSegment(
            record: SegmentRecord(
                fileName: name(number), channel: "test", sequence: number,
                start: UTCTime(milliseconds: epoch + start.milliseconds), programStart: start,
                programEnd: start + .seconds(1), frames: 25, audioSamples: 48_000, bytes: 1000, ending: .error, run: "r"
            ))
        segment.upload = upload
        segment.sha256 = String(repeating: "0", count: 64)
        return segment
    }

    static func name(_ number: Int) -> String { "test_\(number).mp4" }

    /// Returns a catalogue with the files 0 to `files` - 1, and the gaps after them. The rows are made in SQL, which is
    /// much faster than ``CatalogueStore/put(_:living:andFindGaps:)``.
    static func store(files: Int) throws -> CatalogueStore {
        let store = try CatalogueStore()
        let numbers = """
            WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(files))
            """
        try store.write { database in
            try database.execute(
                sql: """
                    \(numbers)
                    INSERT INTO segments (name, channel, sequence, run, start, program_start, program_end, whole_end,
                        late_frames, frame_duration, first_pts, last_pts, duration, frames, audio_samples, bytes,
                        sha256, ending, upload)
                    SELECT 'test_' || n || '.mp4', 'test', n, 'r', \(epoch) + 2000 * n, 2 * n * \(second),
                        (2 * n + 1) * \(second), (2 * n + 1) * \(second), 0, 40000000, 2 * n * \(second),
                        2 * n * \(second) + 960000000, \(second), 25, 48000, 1000, hex(zeroblob(32)), 'error', 'done'
                    FROM numbers
                    """)
            try database.execute(
                sql: """
                    \(numbers)
                    INSERT INTO gaps (channel, run, start, from_pts, to_pts, frames, cause, told)
                    SELECT 'test', 'r', \(epoch) + 2000 * n + 1000, (2 * n + 1) * \(second),
                        iif(n + 1 < \(files), (2 * n + 2) * \(second), NULL), iif(n + 1 < \(files), 25, NULL),
                        'writing failed or was too slow', 0
                    FROM numbers
                    """)
        }
        return store
    }

    static func expect(
        _ operation: String, _ files: Int, _ counter: StepCounter, _ body: () throws -> Void
    ) rethrows {
        let steps = try counter.steps(body)
        #expect(steps > 0 && steps <= most, "\(operation) takes \(steps) steps with \(files) files")
    }

    @Test(arguments: [10, 1000, 50_000])
    func `Adding a file or gap and recording a deletion take bounded work, however many files there are`(
        files: Int
    ) throws {
        let store = try Self.store(files: files)
        let counter = try StepCounter(store)
        try Self.expect("to add a file", files, counter) { try store.put([Self.segment(files)], living: ["r"]) }
        let end = ProgramInstant(nanoseconds: 2 * Self.second * Int64(files) + Self.second)
        let gap = CatalogueGap(
            channel: "test", run: "r", start: Self.epoch + end.milliseconds, from: end, to: end + .seconds(1),
            frames: 25, cause: "told", isTold: true)
        try Self.expect("to add a gap", files, counter) { try store.put(gap) }
        try Self.expect("to add a file of a rebuilding", files, counter) {
            var row = Self.segment(files + 10)
            row.run = "another"
            try store.put([row], living: [], andFindGaps: false)
        }
        try Self.expect("to note a checksum", files, counter) {
            try store.setChecksum(String(repeating: "1", count: 64), of: Self.name(files), bytes: 1000)
        }
        let time = UTCTime(milliseconds: Self.epoch)
        for number in [0, 1, 5, files - 1] {
            try Self.expect("to note a deletion", files, counter) {
                try store.noteDeletion(of: Self.name(number), at: time)
            }
        }
        try counter.stop(store)
    }

    @Test(arguments: [10, 1000, 50_000])
    func `Reading any page of files and gaps takes bounded work, however many files and gaps there are`(files: Int)
        throws
    {
        let store = try Self.store(files: files)
        let counter = try StepCounter(store)
        let all = Self.epoch..<Self.epoch + 2000 * Int64(files)
        // Two ranges with more files than the limit, and two short ranges with fewer files, at the beginning and in the
        // middle.
        let middle = Self.epoch + 2000 * Int64(files / 2)
        for range in [0..<Int64.max, all, Self.epoch..<Self.epoch + 10_000, middle..<middle + 10_000] {
            var (found, gaps): ([CatalogueSegment], [CatalogueGap]) = ([], [])
            try Self.expect("a page", files, counter) {
                try store.read { database in
                    found = try CatalogueStore.newestSegments(of: "test", in: range, limit: 50, database)
                    gaps = try CatalogueStore.newestGaps(of: "test", in: range, limit: 50, database)
                }
            }
            let overlapping = (0..<files).filter { number in
                let start = Self.epoch + 2000 * Int64(number)
                return start < range.upperBound && start + 1000 >= range.lowerBound
            }
            #expect(found.compactMap(\.sequence) == Array(overlapping.suffix(50).reversed()))
            #expect(!gaps.isEmpty && gaps.count <= 50)
        }
        try Self.expect("the newest file", files, counter) {
            let newest = try store.read {
                try CatalogueStore.newestSegment(of: "test", before: .max, $0)
            }
            #expect(newest?.sequence == files - 1)
        }
        try counter.stop(store)
    }

    @Test(arguments: [10, 1000, 50_000])
    func `Computing the upload backlog takes bounded work, however many files were uploaded already`(files: Int) throws
    {
        let store = try Self.store(files: files)
        let new = [Self.segment(files, upload: nil), Self.segment(files + 1, upload: nil)]
        try store.put(new, living: ["r"])
        let counter = try StepCounter(store)
        for besides in [[], [Self.name(files)]] as [Set<String>] {
            var backlog: UploadBacklog?
            try Self.expect("the backlog", files, counter) {
                backlog = try store.uploads(of: "test", besides: besides) { _ in true }.backlog
            }
            #expect(backlog?.files == 2 && backlog?.bytes == 2000)
            #expect(backlog?.next?.name == Self.name(besides.isEmpty ? files : files + 1))
            #expect(backlog?.oldestEnd == Self.epoch + 2000 * Int64(files) + 1000)
        }
        var unhashed: [String] = []
        try Self.expect("the files without a checksum", files, counter) {
            unhashed = try store.unhashed(channel: "test").map { "\($0)" }
        }
        #expect(unhashed.isEmpty)
        try counter.stop(store)
    }

    @Test
    func `The rows that these tests insert by SQL equal those that the catalogue inserts for the same files`() throws {
        let (made, expected) = (try Self.store(files: 20), try CatalogueStore())
        try expected.put((0..<20).map { Self.segment($0) }, living: ["r"])
        let (rows, gaps) = (try expected.segments(), try expected.gaps())
        #expect(try made.segments() == rows)
        #expect(try made.gaps() == gaps)
    }

    // Regression: each file that was deleted after a held one left a row of its own for as long as the hold lasted.
    @Test func `Deleted files between two gaps share one row while an older file is held, and no gap changes`() throws {
        let store = try CatalogueStore()
        // The files follow each other without gaps, except for one gap after every hundredth file.
        let rows = (0..<1000).map { number in
            Self.row(number: number, at: Self.second * Int64(number + number / 100))
        }
        try store.put(rows, living: ["r"])
        let gaps = try store.gaps()
        #expect(gaps.count == 10)
        for number in (1..<999).shuffled() {
            try store.noteDeletion(of: Self.name(number), at: UTCTime(milliseconds: Self.epoch))
        }
        let deleted = try store.deletedSegments()
        #expect(deleted.count == 10)
        #expect(deleted.reduce(0) { $0 + $1.frames } == 998 * 25)
        #expect(try store.gaps() == gaps)
        try store.findGaps(living: ["r"])
        #expect(try store.gaps() == gaps)
        // When the held file is deleted, too, all deleted files are forgotten.
        try store.noteDeletion(of: Self.name(0), at: UTCTime(milliseconds: Self.epoch))
        #expect(try store.deletedSegments().isEmpty)
    }

    @Test
    func `If the source was silent between deleted files, their shared row lasts to the last file's end`() throws {
        let store = try CatalogueStore()
        let rows = (0..<4).map { number in
            var row = Self.segment(number)
            row.ending = .silent
            return row
        }
        try store.put(rows, living: ["r"])
        for number in [2, 1] { try store.noteDeletion(of: Self.name(number), at: UTCTime(milliseconds: Self.epoch)) }
        let deleted = try store.deletedSegments()
        #expect(deleted.map(\.start) == [Self.epoch + 2000] && deleted.map(\.duration) == [3 * Self.second])
        #expect(try store.gaps().isEmpty)
    }

    /// Returns ten files without gaps between them. All except the first and the last are deleted.
    private static func stretch() throws -> (store: CatalogueStore, rows: [CatalogueSegment]) {
        let store = try CatalogueStore()
        let rows = (0..<10).map { row(number: $0, at: second * Int64($0)) }
        try store.put(rows, living: ["r"])
        for number in 1..<9 { try store.noteDeletion(of: name(number), at: UTCTime(milliseconds: epoch)) }
        return (store, rows)
    }

    /// Returns the file with this number, which lasts a second from program time `start`.
    private static func row(number: Int, at start: Int64) -> CatalogueSegment {
        var row = segment(number)
        let start = ProgramInstant(nanoseconds: start)
        (row.programStart, row.firstPts, row.start) = (start, start, epoch + start.milliseconds)
        (row.programEnd, row.wholeEnd, row.lastPts) = (start + .seconds(1), start + .seconds(1), start)
        return row
    }

    @Test(arguments: [1, 4, 8])
    func `If one of several deleted files is added to the catalogue again, no new gap is found`(number: Int) throws {
        let (store, rows) = try Self.stretch()
        let gaps = try store.gaps()
        #expect(try store.deletedSegments().count == 1)
        try store.put([rows[number]], living: [])
        try store.findGaps(living: ["r"])
        #expect(try store.gaps() == gaps)
        // When the file is deleted again, no gap appears either.
        try store.noteDeletion(of: Self.name(number), at: UTCTime(milliseconds: Self.epoch))
        try store.findGaps(living: ["r"])
        #expect(try store.gaps() == gaps)
        let deleted = try store.deletedSegments()
        #expect(deleted.map(\.programStart) == [1_000_000_000] && deleted.map(\.programEnd) == [9_000_000_000])
        #expect(deleted.map(\.frames) == [8 * 25])
    }

    @Test func `A deleted file that was added again causes no gap when all files before it are deleted`() throws {
        let (store, rows) = try Self.stretch()
        let gaps = try store.gaps()
        try store.put([rows[4]], living: [])
        try store.noteDeletion(of: Self.name(0), at: UTCTime(milliseconds: Self.epoch))
        try store.findGaps(living: ["r"])
        #expect(try store.gaps() == gaps)
        try store.noteDeletion(of: Self.name(4), at: UTCTime(milliseconds: Self.epoch))
        #expect(try store.deletedSegments().isEmpty)
    }

    @Test(arguments: ["r", "s"])
    func `If a new file has the name of a deleted one, no gap is found in place of the deleted file`(run: String) throws
    {
        let (store, _) = try Self.stretch()
        for day in 1...2 {
            var new = Self.row(number: 1, at: Self.second * Int64(8 + 2 * day))
            new.run = run
            try store.put([new], living: ["r", "s"])
            if run == "r" {
                try store.put([Self.row(number: 100 + day, at: Self.second * Int64(9 + 2 * day))], living: ["r", "s"])
            }
            try store.findGaps(living: ["r", "s"])
            // Only the gaps at the ends of the runs are found.
            #expect(try store.gaps().allSatisfy { $0.to == nil })
            try store.noteDeletion(of: Self.name(1), at: UTCTime(milliseconds: Self.epoch + Int64(day)))
        }
    }

    @Test func `Rows of deleted files that an earlier version wrote are merged when gaps are computed again`() throws {
        let store = try Self.store(files: 20)
        try store.write { try $0.execute(sql: "UPDATE segments SET deleted = 1 WHERE sequence BETWEEN 5 AND 14") }
        // After this change each file begins exactly where the previous one ends.
        try store.write {
            try $0.execute(
                sql:
                    "UPDATE segments SET program_end = program_end + \(Self.second), whole_end = whole_end + \(Self.second)"
            )
        }
        try store.findGaps(living: ["r"])
        #expect(try store.deletedSegments().map(\.sequence) == [5])
    }

    @Test func `Files that are not deleted are visited in order of time, until the closure returns false`() throws {
        let directory = try TemporaryDirectory()
        let target = try RecordDirectory.prepare(directory.path)
        let store = try CatalogueStore(directory: directory.path)
        let names = (0..<501).map { number in
            SegmentName(channel: "test", start: UTCTime(milliseconds: Self.epoch), sequence: number + 1).closed
        }
        // Three files each begin at the same time.
        let rows = names.enumerated().map { index, name in
            var row = Self.segment(index / 3)
            row.name = name
            row.run = nil
            return row
        }
        try store.put(rows.shuffled(), living: [])
        let ledger = ChannelLedger(directory: target, channel: "test")
        for most in [1, 200, 201, 1000] {
            var visited: [String] = []
            try ledger.visitKept { row in
                visited.append(row.name)
                return visited.count < most
            }
            #expect(visited == Array(names.prefix(most)))
        }
    }
}
