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

    /// Makes each file begin with a scene of one of two sources.
    private static let scenes = """
        INSERT INTO events (channel, start, kind, text)
        SELECT channel, start, 'scene', '{"details":[],"frame":' || (50 * sequence) || ',"layout":"single",'
            || '"run":"r","sources":["cam' || (sequence % 2) || '"],"transition":"cut"}' FROM segments
        """

    @Test(arguments: [10, 1000, 50_000])
    func `Reading the scenes of a short time takes bounded work, however many files and scenes there are`(
        files: Int
    ) throws {
        let store = try Cost.store(files: files)
        try store.write { database in
            try database.execute(sql: "UPDATE segments SET duration = \(2 * Cost.second)")
            try database.execute(sql: Self.scenes)
            // There are as many events of another kind.
            try database.execute(
                sql: "INSERT INTO events (channel, start, kind, text) SELECT channel, start, 'input', '' FROM segments")
        }
        let directory = try TemporaryDirectory()
        let first = files / 2
        // The files of a minute before and after are read as well.
        for number in max(0, first - 32)..<min(files, first + 35) { try directory.write([0], to: Cost.name(number)) }
        let archive = try RecordingArchive(directory.path)
        let counter = try StepCounter(store)
        let start = Cost.epoch + 2000 * Int64(first)
        for channel in ["test", "test-cam", nil] {
            var found: RecordingArchive.Contents?
            try Cost.expect("the scenes", files, counter) {
                found = try archive.scenes(in: start + 1000..<start + 5000, of: channel, in: store)
            }
            // There is no recording of the source, so the complete catalogue must be read.
            guard channel != "test-cam" else {
                #expect(found == nil)
                continue
            }
            let contents = try #require(found)
            let names = contents.segments.map(\.name)
            #expect((first..<first + 3).allSatisfy { names.contains(Cost.name($0)) } && names.count <= 64)
            let frames = contents.events.compactMap { $0.scene?.frame }
            #expect(Set(50 * Int64(first)...50 * Int64(first) + 100).intersection(frames).count == 3)
            #expect(frames == frames.sorted() && frames.count <= 65)
        }
        try counter.stop(store)
    }

    @Test(arguments: [10, 1000, 50_000])
    func `Reading what a run-down of a short time needs takes bounded work, however many files and scenes there are`(
        files: Int
    ) throws {
        let store = try Cost.store(files: files)
        try store.write { database in
            try database.execute(sql: "UPDATE segments SET duration = \(2 * Cost.second)")
            try database.execute(sql: Self.scenes)
            // The two sources of the scenes and a third one are recorded, too.
            for source in 0..<3 {
                try database.execute(
                    sql: """
                        INSERT INTO segments (name, channel, sequence, run, start, program_start, program_end, whole_end,
                            late_frames, frame_duration, first_pts, last_pts, duration, frames, audio_samples, bytes,
                            sha256, ending, upload)
                        SELECT 'test-cam\(source)_' || sequence || '.mp4', 'test-cam\(source)', sequence,
                            'r.\(source)', start, program_start, program_end, whole_end, late_frames, frame_duration,
                            first_pts, last_pts, duration, frames, audio_samples, bytes, sha256, ending, upload
                        FROM segments WHERE channel = 'test'
                        """)
            }
        }
        let directory = try TemporaryDirectory()
        let first = files / 2
        for number in max(0, first - 32)..<min(files, first + 35) {
            for name in ["test"] + (0..<3).map({ "test-cam\($0)" }) {
                try directory.write([0], to: "\(name)_\(number).mp4")
            }
        }
        let archive = try RecordingArchive(directory.path)
        let counter = try StepCounter(store)
        let start = Cost.epoch + 2000 * Int64(first)
        for channel in ["test", nil] {
            var found: RecordingArchive.Contents?
            try Cost.expect("a run-down", files, counter) {
                found = try archive.show(in: start + 1000..<start + 5000, of: channel, in: store)
            }
            let contents = try #require(found)
            #expect(Set(contents.segments.map(\.channel)) == ["test", "test-cam0", "test-cam1"])
            #expect(contents.segments.count <= 3 * 64 && contents.events.count <= 65)
        }
        // If a source on air has files, but none from that time, the complete catalogue must be read.
        try store.write { database in
            try database.execute(
                sql: "DELETE FROM segments WHERE channel = 'test-cam0' AND start BETWEEN ? AND ?",
                arguments: [start - 70_000, start + 4000])
        }
        let hasOthers = try store.read { try CatalogueStore.channels($0) }.contains("test-cam0")
        #expect(try (archive.show(in: start + 1000..<start + 5000, of: "test", in: store) == nil) == hasOthers)
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
