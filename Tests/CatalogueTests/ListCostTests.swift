// SPDX-License-Identifier: Apache-2.0

import GRDB
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue

/// The cost of reading what exports, lists, playlists and the ledger of uploads show, in catalogues of different sizes.
@Suite struct ListCostTests {
    private typealias Cost = CatalogueCostTests

    @Test(arguments: [10, 1000, 50_000])
    func `Selecting the files of a short export takes bounded work, however many files there are`(files: Int) throws {
        let store = try Cost.store(files: files)
        // After this change each file begins exactly where the previous one ends.
        try store.write { try $0.execute(sql: "UPDATE segments SET duration = \(2 * Cost.second)") }
        let directory = try TemporaryDirectory()
        let first = files / 2
        let names = (first..<first + 3).map { Cost.name($0) }
        for name in names { try directory.write([0], to: name) }
        let archive = try RecordingArchive(directory.path)
        let counter = try StepCounter(store)
        let start = Cost.epoch + 2000 * Int64(first)
        for channel in ["test", nil] {
            var found: [CatalogueSegment]?
            try Cost.expect("an export", files, counter) {
                found = try archive.files(filling: [start + 1000..<start + 5000], of: channel, in: store)
            }
            #expect(found?.map(\.name) == names)
        }
        try counter.stop(store)
    }

    @Test(arguments: [10, 1000, 50_000])
    func `Reading a page of the upload ledger takes bounded work, however many entries it has`(entries: Int) throws {
        let store = try CatalogueStore()
        try store.write { database in
            try database.execute(
                sql: """
                    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(entries))
                    INSERT INTO uploads (channel, time, name, bytes, sha256, place)
                    SELECT 'test', \(Cost.epoch) + 2000 * n, 'test_' || n || '.mp4', 1000, NULL, 'archive:' || n
                    FROM numbers
                    """)
        }
        let counter = try StepCounter(store)
        let middle = Cost.epoch + 2000 * Int64(entries / 2)
        for range in [0..<Int64.max, 0..<middle, middle..<middle + 10_000] {
            var (channels, found): ([String], [UploadEntry]) = ([], [])
            try Cost.expect("a page of the ledger", entries, counter) {
                try store.read { database in
                    channels = try CatalogueStore.uploadedChannels(database)
                    found = try CatalogueStore.newestUploads(of: "test", in: range, limit: 50, database)
                }
            }
            let times = (0..<entries).map { Cost.epoch + 2000 * Int64($0) }.filter { range.contains($0) }
            #expect(channels == ["test"] && found.map(\.time) == Array(times.suffix(50).reversed()))
        }
        try counter.stop(store)
    }

    @Test(arguments: [10, 1000, 50_000])
    func `Reading the clips that keep the files of a page takes bounded work, however many files there are`(
        files: Int
    ) throws {
        let store = try Cost.store(files: files)
        let clips = (0..<20).map { number in
            CatalogueClip(
                .init(id: "\(number)", run: "r", first: Int64(number), end: Int64(number + 1), isComplete: true),
                channel: "test", rate: FrameRate(25), start: Cost.epoch + Int64(number), name: nil)
        }
        try store.put(clips, removing: [], of: "test")
        let counter = try StepCounter(store)
        var found: [CatalogueClip] = []
        try Cost.expect("the clips", files, counter) { found = try store.clips(of: "test") }
        #expect(found == clips)
        try counter.stop(store)
    }

    @Test(arguments: [10, 1000, 50_000])
    func `Reading the files and marks of a playlist takes bounded work, however many there are`(files: Int) throws {
        let store = try Cost.store(files: files)
        try store.write { database in
            try database.execute(
                sql: """
                    INSERT INTO events (channel, start, kind, text)
                    SELECT channel, start, '\(CatalogueEvent.marker)', name FROM segments
                    """)
        }
        let counter = try StepCounter(store)
        let start = Cost.epoch + 2000 * Int64(files / 2)
        var (names, marks): ([String], [String]) = ([], [])
        try Cost.expect("a playlist", files, counter) {
            try store.read { database in
                let range = start..<start + 6000
                names = try CatalogueStore.newestSegments(of: "test", in: range, limit: 3001, database).map(\.name)
                marks = try CatalogueStore.newestEvents(of: "test", in: range, limit: 3001, database).map(\.text)
            }
        }
        let wanted = (0..<3).reversed().map { Cost.name(files / 2 + $0) }
        #expect(names == wanted && marks == wanted)
        try counter.stop(store)
    }
}
