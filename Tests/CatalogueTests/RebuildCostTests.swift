// SPDX-License-Identifier: Apache-2.0

import GRDB
import Media
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue

/// How the work of making a catalogue from files grows with the number of files. The work is counted, because time
/// depends on the machine.
@Suite struct RebuildCostTests {
    /// Work that grows with the number of files may also grow with the depth of the tables' trees.
    private static let tolerance = 1.5

    @Test func `Rebuilding a catalogue from four times as many files takes about four times as many steps`() throws {
        let (few, many) = (try Self.steps(files: 100), try Self.steps(files: 400))
        #expect(few > 0 && Double(many) <= 4 * Self.tolerance * Double(few), "\(few), then \(many)")
    }

    /// Returns the number of SQLite's steps to make a catalogue from `files` files, and again from the same files.
    private static func steps(files: Int) throws -> Int {
        let place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        let sample = SampleRecording(seconds: 2).closed
        for number in 1...files {
            let start = UTCTime(milliseconds: SampleRecording.start.milliseconds + Int64(number) * 2000)
            try place.write(sample, to: SegmentName(channel: "test", start: start, sequence: number).closed)
        }
        let store = try CatalogueStore()
        let counter = try StepCounter(store)
        var unread = 0
        let steps = try counter.steps {
            for _ in 1...2 { unread += try CatalogueSync.run(store, directory, isFull: true).count }
        }
        try counter.stop(store)
        #expect(unread == 0)
        #expect(try store.segments().count == files)
        return steps
    }

    @Test(arguments: [1000, 50_000])
    func `Rebuilding takes as many steps for each file in a large catalogue as in a small one`(files: Int) throws {
        let (few, many) = (try Self.work(files: 100), try Self.work(files: files))
        #expect(many.adding <= Self.tolerance * few.adding, "\(few), then \(many)")
        #expect(many.findingGaps <= Self.tolerance * few.findingGaps, "\(few), then \(many)")
    }

    /// Returns the steps for each file: to add files to a catalogue of `files` files, as a rebuilding adds them, and to
    /// find all gaps at its end.
    private static func work(files: Int) throws -> (adding: Double, findingGaps: Double) {
        let store = try CatalogueCostTests.store(files: files)
        let second = CatalogueCostTests.second
        // After this change each file begins exactly where the previous one ends.
        try store.write { database in
            try database.execute(
                sql: "UPDATE segments SET program_end = program_end + \(second), whole_end = whole_end + \(second)")
        }
        let counter = try StepCounter(store)
        let rows = (files..<files + 100).map { CatalogueCostTests.segment($0) }
        let adding = try counter.steps { try store.put(rows, living: [], andFindGaps: false) }
        let finding = try counter.steps { try store.findGaps(living: []) }
        try counter.stop(store)
        return (Double(adding) / Double(rows.count), Double(finding) / Double(files + rows.count))
    }
}
