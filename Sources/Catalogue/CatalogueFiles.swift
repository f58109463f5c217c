// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import Glibc

/// The database's files in the directory of the recordings.
enum CatalogueFiles {
    /// The suffixes of SQLite's own files beside the database.
    private static let companions = ["-wal", "-shm", "-journal"]

    /// Returns the name of the damaged database that was set aside under `number`.
    static func brokenName(_ number: Int) -> String { "\(CatalogueStore.fileName).broken-\(number)" }

    /// Renames a damaged database to `.relay.sqlite.broken-N` and returns that name. Nothing is deleted. Before the
    /// renaming, ``ClipMark`` records that the clips of the database must be restored.
    static func setAside(in directory: RecordDirectory) throws(FileFailure) -> String {
        let path = "\(directory.path)/\(CatalogueStore.fileName)"
        for number in 1..<1000 {
            let target = "\(directory.path)/\(brokenName(number))"
            guard access(target, F_OK) != 0 else { continue }
            try ClipMark.begin(number, in: directory.path)
            guard rename(path, target) == 0 else { throw FileFailure("rename", path, code: errno) }
            // SQLite's own files are renamed too: otherwise SQLite would apply them to a new database that has the old
            // name.
            for companion in companions { rename(path + companion, target + companion) }
            return brokenName(number)
        }
        throw FileFailure("rename", path, code: EEXIST)
    }

    /// A directory that contains a copy of a database.
    struct Copy {
        let path: String
        func remove() { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Copies the database to a temporary directory. The copy is read if the database or its directory cannot be
    /// written.
    static func temporaryCopy(from directory: RecordDirectory) throws(CatalogueFailure) -> Copy {
        let manager = FileManager.default
        let copy = Copy(path: manager.temporaryDirectory.appendingPathComponent("relay-\(UUID().uuidString)").path)
        do {
            try manager.createDirectory(
                atPath: copy.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            for name in ["", "-wal", "-journal"].map({ CatalogueStore.fileName + $0 }) {
                guard manager.fileExists(atPath: "\(directory.path)/\(name)") else { continue }
                try manager.copyItem(atPath: "\(directory.path)/\(name)", toPath: "\(copy.path)/\(name)")
            }
        } catch {
            copy.remove()
            throw CatalogueFailure.failed("cannot copy \(directory.path)/\(CatalogueStore.fileName): \(error)")
        }
        return copy
    }
}
