// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// An empty file in a directory of recordings that states a fact by its existence. It needs no space on a full disk, and
/// is not lost with the catalogue. All calls block on the disk.
struct MarkFile {
    let path: String

    init(_ name: String, in directory: String) { path = "\(directory)/\(name)" }

    /// Whether the file exists; also true if that cannot be determined.
    var mayExist: Bool {
        var info = stat()
        return lstat(path, &info) == 0 || errno != ENOENT
    }

    /// When the file was last touched, in milliseconds since 1970; `Int64.max` if that cannot be determined. Nil if
    /// there is no such file.
    var time: Int64? {
        var info = stat()
        guard lstat(path, &info) == 0 else { return errno == ENOENT ? nil : .max }
        return Int64(info.st_mtim.tv_sec) &* 1000 &+ Int64(info.st_mtim.tv_nsec) / 1_000_000
    }

    /// Creates the file, or updates its modification time. The file then also survives a power failure.
    func touch() throws(FileFailure) {
        do {
            _ = try FileDescriptor.create(path)
        } catch {
            guard error.code == EEXIST else { throw error }
            utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW)
        }
        FileDescriptor.synchroniseDirectory(of: path)
    }

    /// Deletes the file, if it exists.
    func remove() throws(FileFailure) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure("delete", path, code: errno) }
    }
}
