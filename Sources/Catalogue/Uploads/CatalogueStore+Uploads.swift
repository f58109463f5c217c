// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import Glibc

/// The files that wait for upload.
package struct UploadBacklog: Sendable, Equatable {
    /// The oldest waiting file, without the files that the caller excluded.
    package var next: CatalogueSegment?
    /// When the oldest waiting file ended: milliseconds since 1970-01-01T00:00:00Z.
    package var oldestEnd: Int64?
    /// The number of waiting files.
    package var files: Int
    /// The total size of the waiting files, in bytes.
    package var bytes: Int64
}

extension CatalogueStore {
    /// Queues the files of `channel` that were never uploaded and for which `isOurs` returns true. Returns the backlog,
    /// whose next file is not in `names`, and the newly queued files as `added`.
    func uploads(
        of channel: String, besides names: Set<String>, isOurs: (CatalogueSegment) -> Bool
    ) throws(CatalogueFailure) -> (backlog: UploadBacklog, added: [String]) {
        try write { database in
            let new = try Self.segments(
                "channel = ? AND upload IS NULL AND deleted IS NULL", [channel], by: "start, name",
                index: "segments_unsent", database)
            let added = new.filter(isOurs).map(\.name)
            for name in added {
                try database.execute(sql: "UPDATE segments SET upload = 'waiting' WHERE name = ?", arguments: [name])
            }
            return (try Self.backlog(of: channel, besides: names, database), added)
        }
    }

    /// Returns the backlog of `channel`. Only its first files are decoded: while a target cannot be reached, tens of
    /// thousands can wait.
    private static func backlog(
        of channel: String, besides names: Set<String>, _ database: Database
    ) throws -> UploadBacklog {
        let waiting = "FROM segments INDEXED BY segments_waiting WHERE channel = ? AND upload = 'waiting'"
        let rows = try Row.fetchCursor(
            database, sql: "SELECT * \(waiting) ORDER BY start, name", arguments: [channel])
        var (first, next): (CatalogueSegment?, CatalogueSegment?)
        while next == nil, let row = try rows.next() {
            guard let segment = CatalogueSegment(validating: row) else { continue }
            if first == nil { first = segment }
            if !names.contains(segment.name) { next = segment }
        }
        let files = try Int.fetchOne(database, sql: "SELECT count(*) \(waiting)", arguments: [channel])
        // Each size is limited before it is added, because the size in a damaged row could make the sum overflow.
        let bytes = try Int64.fetchOne(
            database, sql: "SELECT sum(max(0, min(bytes, \(Cells.count.upperBound)))) \(waiting)", arguments: [channel])
        return UploadBacklog(
            next: next, oldestEnd: first?.end, files: files ?? 0,
            bytes: bytes ?? 0)
    }

    /// Queues again the files of `channel` whose upload was given up, if they exist in `directory`. Returns the names
    /// of the queued files.
    func queueGivenUp(of channel: String, in directory: String) throws(CatalogueFailure) -> [String] {
        try write { database in
            let names = try String.fetchAll(
                database,
                sql:
                    "SELECT name FROM segments WHERE channel = ? AND upload = 'none' AND deleted IS NULL ORDER BY start",
                arguments: [channel]
            ).filter { access("\(directory)/\($0)", F_OK) == 0 }
            for name in names {
                try database.execute(sql: "UPDATE segments SET upload = 'waiting' WHERE name = ?", arguments: [name])
            }
            return names
        }
    }

    /// Returns the upload state of the file `name`; nil if it was never queued, or has no row.
    func upload(of name: String) throws(CatalogueFailure) -> UploadState? {
        try read { try Self.segments("name = ?", [name], by: "name", $0).first?.upload }
    }

    /// Stores the upload state of the file `name`.
    func setUpload(_ upload: UploadState, of name: String) throws(CatalogueFailure) {
        try write {
            try $0.execute(sql: "UPDATE segments SET upload = ? WHERE name = ?", arguments: [upload.rawValue, name])
        }
    }

    /// Stores `states` where the database has different upload states. A file that has a result does not become
    /// `waiting` again: another process can have stored the result in the meantime.
    func setUploads(_ states: [String: UploadState]) throws(CatalogueFailure) {
        try write { database in
            for (name, upload) in states {
                try database.execute(
                    sql: """
                        UPDATE segments SET upload = ?1
                        WHERE name = ?2 AND (upload IS NULL OR (?1 <> 'waiting' AND upload IS NOT ?1))
                        """,
                    arguments: [upload.rawValue, name])
            }
        }
    }

}
