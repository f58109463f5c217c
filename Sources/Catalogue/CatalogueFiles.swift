// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Segmenter

/// The database's files in the directory of the recordings.
enum CatalogueFiles {
    /// SQLite's own files beside the database.
    private static let companions = ["-wal", "-shm", "-journal"]

    /// Renames a damaged database to `.relay.sqlite.broken-N` and returns that name. Nothing is deleted.
    static func setAside(in directory: RecordDirectory) throws(FileFailure) -> String {
        let path = "\(directory.path)/\(CatalogueStore.fileName)"
        for number in 1..<1000 {
            let target = "\(path).broken-\(number)"
            guard access(target, F_OK) != 0 else { continue }
            guard rename(path, target) == 0 else { throw FileFailure("rename", path, code: errno) }
            // Without them a new database of the old name would be taken for the old one.
            for companion in companions { rename(path + companion, target + companion) }
            return "\(CatalogueStore.fileName).broken-\(number)"
        }
        throw FileFailure("rename", path, code: EEXIST)
    }
}
