// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// Returns an existing directory, whose files are named by `template`, for reading only.
    package static func existing(_ path: String, template: NameTemplate) throws(FileFailure) -> RecordDirectory {
        let directory = try existing(path)
        return RecordDirectory(path: directory.path, place: directory.place, template: template)
    }

    /// Opens the file `name`, a path below this directory, for reading. It must be a regular file. Hidden files and
    /// symbolic links are refused, and so are symbolic links in place of a directory in the path.
    package func open(recording name: String) throws(FileFailure) -> FileDescriptor {
        let parts = FileDescriptor.parts(of: name)
        guard !name.utf8.contains(0), parts.allSatisfy({ !$0.isEmpty && $0.utf8.first != UInt8(ascii: ".") }) else {
            throw FileFailure("open", path, text: "this is no name of a recording")
        }
        let file = try FileDescriptor.open(parentOf: name, in: path).open(readOnlyEntry: name)
        guard try file.attributes().isRegular else {
            throw FileFailure("open", file.path, text: "it is not a regular file")
        }
        return file
    }

    /// Returns the closed name of an open file; any other name unchanged.
    package static func closedName(of name: String) -> String {
        name.hasSuffix(SegmentName.openMark) ? String(name.dropLast(SegmentName.openMark.count)) : name
    }

    /// Returns the name that the file `name` has while it is being written.
    package static func openName(of name: String) -> String { name + SegmentName.openMark }

}

/// A value that changes with a file's content, as far as the system shows it.
package struct FileStamp: Sendable, Hashable {
    /// The inode number.
    package var number: UInt64
    /// The size in bytes.
    package var size: Int64
    /// When it was last written, in nanoseconds since 1970.
    package var modified: Int64
}

extension FileDescriptor {
    /// Returns the file's current stamp.
    package func stamp() throws(FileFailure) -> FileStamp {
        let info = try information()
        return FileStamp(
            number: UInt64(info.st_ino), size: Int64(info.st_size),
            modified: Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec))
    }
}
