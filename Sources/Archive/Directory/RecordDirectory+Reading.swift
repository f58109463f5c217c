// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension RecordDirectory {
    /// An existing directory that is only looked at, whose files are called as `template` says.
    package static func existing(_ path: String, template: NameTemplate) throws(FileFailure) -> RecordDirectory {
        let directory = try existing(path)
        return RecordDirectory(path: directory.path, place: directory.place, template: template)
    }

    /// Opens the file `name`, a path below this directory, for reading. It must be a regular one; a symbolic link is
    /// refused, in the place of a directory on the way, too, and so is what is hidden.
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

    /// The name of the closed file of an open one; the same for any other.
    package static func closedName(of name: String) -> String {
        name.hasSuffix(SegmentName.openMark) ? String(name.dropLast(SegmentName.openMark.count)) : name
    }

    /// The name of a file while it is being written that will be called `name`.
    package static func openName(of name: String) -> String { name + SegmentName.openMark }

}

/// What tells one content of a file from another, as far as the system says.
package struct FileStamp: Sendable, Hashable {
    /// The file's number in its file system.
    package var number: UInt64
    /// Bytes.
    package var size: Int64
    /// When it was last written, in nanoseconds since 1970.
    package var modified: Int64
}

extension FileDescriptor {
    /// The file's stamp now.
    package func stamp() throws(FileFailure) -> FileStamp {
        let info = try information()
        return FileStamp(
            number: UInt64(info.st_ino), size: Int64(info.st_size),
            modified: Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec))
    }
}
