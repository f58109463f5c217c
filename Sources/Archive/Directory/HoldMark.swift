// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// An empty file in a directory of recordings. It shows that a recording is held: relay does not delete the recording,
/// not even on request, until the mark is removed.
///
/// The mark's name is `.relay-hold-NAME`, with `%2F` for each slash in the recording's name and `%25` for each `%`. The
/// mark is a file and not a row of the catalogue, so that it survives the loss of the catalogue. An operator can also
/// create the file, and so hold a recording, without relay. An empty file needs no space on a full disk. All calls
/// block on the disk.
package enum HoldMark {
    private static let prefix = ".relay-hold-"

    private static func path(of name: String, in directory: String) -> String {
        let plain = name.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%25")
        return "\(directory)/\(prefix)"
            + plain.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2F")
    }

    /// Returns the names of all closed files that have a mark in `directory`, even if the files do not exist.
    package static func names(in directory: RecordDirectory) throws(FileFailure) -> Set<String> {
        Set(
            try RecordDirectory.names(in: directory.path).filter { $0.hasPrefix(prefix) }.map { mark in
                String(mark.dropFirst(prefix.count)).replacing("%2F", with: "/").replacing("%25", with: "%")
            })
    }

    /// Whether the recording with the closed file `name` is held; true if the system cannot tell.
    package static func isSet(of name: String, in directory: RecordDirectory) -> Bool {
        var info = stat()
        return lstat(path(of: name, in: directory.path), &info) == 0 || !isAbsence(errno)
    }

    /// Whether the system's error `code` says that the mark does not exist. A mark's name is longer than the name of
    /// its recording, and file systems limit the length of names. If the name is too long, the mark cannot exist, so
    /// the recording is not held.
    private static func isAbsence(_ code: CInt) -> Bool { code == ENOENT || code == ENAMETOOLONG }

    /// Holds the recording whose closed file is, or will be, `name`.
    package static func set(of name: String, in directory: RecordDirectory) throws(FileFailure) {
        try directory.checkMount()
        let path = path(of: name, in: directory.path)
        do {
            _ = try FileDescriptor.create(path)
        } catch {
            guard error.code == EEXIST else { throw error }
        }
        FileDescriptor.synchroniseDirectory(of: path)
    }

    /// Removes the mark of the recording `name`, so that retention may delete the recording again.
    package static func remove(of name: String, in directory: RecordDirectory) throws(FileFailure) {
        try directory.checkMount()
        let path = path(of: name, in: directory.path)
        guard unlink(path) == 0 || isAbsence(errno) else { throw FileFailure("delete", path, code: errno) }
        FileDescriptor.synchroniseDirectory(of: path)
    }
}
