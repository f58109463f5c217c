// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Identifies the record directory at a path, so that a caller can find out whether another directory is there by now.
/// All calls block on the disk.
///
/// The root directories of two disks can have the same number, and their file systems the same device number. Most file
/// systems also have an identifier. For the others, the directory's mark tells the disks apart.
package struct DirectoryIdentity: Equatable, Sendable {
    private let fileSystem: FileSystemNumber
    private let number: FileIdentity
    /// The name of the directory's mark; nil if the directory contains none.
    private let mark: String?

    /// The identity of the directory at `path`; nil if no directory is there. Reads the names of the directory's
    /// entries.
    package init?(_ path: String) {
        guard let fileSystem = try? FileSystemNumber(of: path), let number = FileIdentity(path) else { return nil }
        (self.fileSystem, self.number, mark) = (fileSystem, number, RecordDirectory.mark(in: path))
    }

    /// Whether this directory is at `path` now. The names of its entries are read only if it has no mark.
    package func isFound(at path: String) -> Bool {
        guard (try? FileSystemNumber(of: path)) == fileSystem, FileIdentity(path) == number else { return false }
        guard let mark else { return RecordDirectory.mark(in: path) == nil }
        return access("\(path)/\(mark)", F_OK) == 0
    }
}
