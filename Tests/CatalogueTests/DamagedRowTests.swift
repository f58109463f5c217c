// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import GRDB
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// Single cells of the catalogue that a disk or another program has changed.
@Suite struct DamagedRowTests {
    /// Values that are invalid in every column of this type. NULL and 0 are invalid only in some columns.
    private static let numbers = ["-1", "9223372036854775807", "-9223372036854775808", "1e300", "x'00ff'", "'text'"]
    private static let texts = ["-1", "9223372036854775807", "0.5", "x'00ff'"]
    private static let required: Set<String> = [
        "name", "channel", "start", "late_frames", "frame_duration", "duration", "frames in segments", "audio_samples",
        "bytes",
        "run in gaps", "from_pts", "cause", "told",
    ]

    private static func hostile(_ column: String, in table: String, isText: Bool) -> [String] {
        var values = isText ? texts : numbers
        if required.contains(column) || required.contains("\(column) in \(table)") { values.append("NULL") }
        switch column {
        case "frame_duration": values += ["0", "1"]
        // Times before 1970 are valid.
        case "start", "deleted": values.removeFirst()
        case "name": values += ["''", "'../../etc/passwd'", "'/etc/passwd'", "'.hidden.mp4'"]
        case "sha256", "ending", "upload": values += ["'text'", "''"]
        default: break
        }
        return values
    }

    /// Removes the constraints of a database, so that any cell can have any value, and returns the columns.
    private func withoutConstraints(_ path: String) throws -> [(table: String, column: String, isText: Bool)] {
        try DatabaseQueue(path: path).write { database in
            try ["segments", "gaps"].flatMap { table in
                let columns = try Row.fetchAll(database, sql: "SELECT name, type FROM pragma_table_info('\(table)')")
                    .map { (table: table, column: $0["name"] as String, isText: $0["type"] == "TEXT") }
                try database.execute(sql: "ALTER TABLE \(table) RENAME TO strict_\(table)")
                let list = columns.map(\.column).joined(separator: ", ")
                let key = table == "segments" ? "UNIQUE (name)" : "UNIQUE (run, from_pts)"
                try database.execute(sql: "CREATE TABLE \(table) (\(list), \(key))")
                try database.execute(sql: "INSERT INTO \(table) SELECT * FROM strict_\(table)")
                try database.execute(sql: "DROP TABLE strict_\(table)")
                return columns
            }
        }
    }

    /// Returns the content of the catalogue after a command has read and verified the directory, and relay has started
    /// again.
    private func restart(_ directory: TemporaryDirectory) throws -> RecordingArchive.Ledger {
        let archive = try RecordingArchive(directory.path)
        _ = try archive.contents()
        _ = try archive.verify(.init(checksums: false))
        let catalogue = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        catalogue.start()
        catalogue.waitUntilIdle()
        catalogue.finish {}
        catalogue.waitUntilIdle()
        return try archive.onDisk()
    }

    @Test func `A catalogue row with an invalid value in any cell is rebuilt from the recorded files`() throws {
        let directory = try Recording.make(hasGap: true)
        let path = directory.path(".relay.sqlite")
        let whole = try RecordingArchive(directory.path).onDisk()
        let columns = try withoutConstraints(path)
        let template = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(columns.count == 28)
        for (table, column, isText) in columns {
            for value in Self.hostile(column, in: table, isText: isText) {
                try template.write(to: URL(fileURLWithPath: path))
                try DatabaseQueue(path: path).write {
                    try $0.execute(
                        sql: "UPDATE \(table) SET \(column) = \(value) WHERE rowid = (SELECT max(rowid) FROM \(table))")
                }
                let damage = "\(table).\(column) = \(value)"
                #expect(try RecordingArchive(directory.path).ledger()?.damagedRows == 1, "\(damage)")
                let after = try restart(directory)
                #expect(after.damagedRows == 0, "\(damage)")
                #expect(after.segments.map(withoutSum) == whole.segments.map(withoutSum), "\(damage)")
                let places = { (gaps: [CatalogueGap]) in
                    gaps.map { [$0.from.nanoseconds, $0.to?.nanoseconds ?? -1, Int64($0.frames ?? -1)] }
                }
                #expect(places(after.gaps) == places(whole.gaps), "\(damage)")
            }
        }
    }

    private func withoutSum(_ segment: CatalogueSegment) -> CatalogueSegment {
        var segment = segment
        segment.sha256 = nil
        return segment
    }

    @Test func `A damaged catalogue row still shows that its file waits for upload`() throws {
        let directory = try Recording.make()
        let path = directory.path(".relay.sqlite")
        let name = directory.files[1]
        try DatabaseQueue(path: path).write {
            try $0.execute(
                sql: "UPDATE segments SET frame_duration = 0, upload = 'waiting' WHERE name = ?", arguments: [name])
        }
        let report = try RecordingArchive(directory.path).verify(.init())
        #expect(report.problems.contains { $0.text.hasPrefix("1 rows of the catalogue") }, "\(report.lines)")
        let segments = try restart(directory).segments
        #expect(segments.map(\.name) == directory.files)
        #expect(segments.map(\.upload) == [nil, .waiting, nil, nil, nil])
        #expect(try RecordingArchive(directory.path).verify(.init()).isGood)
    }

    @Test func `The sum of file durations of many years does not overflow`() throws {
        let directory = try Recording.make()
        let length = Int64(31_536_000_000_000_000)
        try DatabaseQueue(path: directory.path(".relay.sqlite")).write { database in
            for number in 0..<600 {
                try database.execute(
                    sql: """
                        INSERT INTO segments SELECT '\(number).ts', channel, sequence, run, start, program_start,
                        program_end, whole_end, late_frames, frame_duration, first_pts, last_pts, \(length), frames,
                        audio_samples, 0, sha256, ending, upload, deleted FROM segments ORDER BY rowid LIMIT 1
                        """)
            }
        }
        for number in 0..<600 { try directory.write([UInt8](), to: "\(number).ts") }
        let report = try RecordingArchive(directory.path).verify(.init(checksums: false))
        #expect(report.segments == 605 && report.duration == 1 << 62, "\(report.sentence)")
    }
}
