// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import Glibc

/// What became of the upload of a file, or of the command that is run for it.
package enum UploadState: String, Sendable, Codable {
    /// An operator gave it up, or the file was gone: nothing waits for it.
    case none
    /// It is to be uploaded.
    case waiting
    /// It is uploaded.
    case done
}

/// What waits for an upload.
package struct UploadBacklog: Sendable, Equatable {
    /// The oldest of the files that were asked for.
    package var next: CatalogueSegment?
    /// When the oldest of those that wait ended: milliseconds since 1970-01-01T00:00:00Z.
    package var oldestEnd: Int64?
    /// All files that wait.
    package var files: Int
    /// Their bytes.
    package var bytes: Int64
}

extension CatalogueStore {
    /// Lets wait what of `channel` was never uploaded and `isOurs`, and returns what waits; its next is not in `names`.
    /// Those that did not wait before are `added`.
    func uploads(
        of channel: String, besides names: Set<String>, isOurs: (CatalogueSegment) -> Bool
    ) throws(CatalogueFailure) -> (backlog: UploadBacklog, added: [String]) {
        try write { database in
            let new = try Self.segments(
                "channel = ? AND upload IS NULL AND deleted IS NULL", [channel], by: "start, name", database)
            let added = new.filter(isOurs).map(\.name)
            for name in added {
                try database.execute(sql: "UPDATE segments SET upload = 'waiting' WHERE name = ?", arguments: [name])
            }
            let waiting = try Self.segments(
                "channel = ? AND upload = 'waiting'", [channel], by: "start, name", database)
            let backlog = UploadBacklog(
                next: waiting.first { !names.contains($0.name) },
                oldestEnd: waiting.first.map { $0.start + $0.duration / 1_000_000 }, files: waiting.count,
                bytes: waiting.reduce(0) { $0 + $1.bytes })
            return (backlog, added)
        }
    }

    /// Lets wait again what of `channel` was given up and is in `directory`; returns the names.
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

    /// Notes what became of the upload of the file `name`.
    func setUpload(_ upload: UploadState, of name: String) throws(CatalogueFailure) {
        try write {
            try $0.execute(
                sql: "UPDATE segments SET upload = ? WHERE name = ?", arguments: [upload.rawValue, name])
        }
    }

    /// Notes what became of the uploads of the files that are named in `states`, where the database says something
    /// else. No file is set to wait again: the process that noted another result meanwhile knows better.
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
