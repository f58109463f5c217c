// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The result of stat(2) for a file, as Swift values.
///
/// This type is for targets that import a C library besides Glibc. In such a target the compiler can find the fields of
/// `struct stat` in that library's module, and then refuses code that uses the fields without importing the module.
package struct FileStatus: Sendable {
    /// The type of file to which a name refers.
    package enum Kind: Sendable {
        case regular, directory, link, socket, other
    }

    package let kind: Kind
    /// The file's size in bytes.
    package let size: Int64
    /// Whether users other than the file's owner are allowed to read, write or execute the file.
    package let isOpenToOthers: Bool
    /// The file system and the file's number on it: `st_dev` and `st_ino`.
    package let device: UInt64, inode: UInt64
    /// When the file's content was last changed, in seconds since 1970.
    package let modified: Int
    /// When the file's content or status was last changed, in seconds since 1970.
    package let changed: Int

    /// The status of the file at `path`, following symbolic links; nil if there is no such file or the system does not
    /// report it.
    package init?(_ path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    /// The status of the file at `path`, or of the symbolic link itself; nil if there is no such file or the system
    /// does not report it.
    package init?(ofLink path: String) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    /// The status of the open file `descriptor`; nil if the system does not report it.
    package init?(_ descriptor: CInt) {
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return nil }
        self.init(info)
    }

    private init(_ info: stat) {
        kind =
            switch info.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .link
            case S_IFSOCK: .socket
            default: .other
            }
        size = Int64(info.st_size)
        isOpenToOthers = info.st_mode & 0o077 != 0
        (device, inode) = (UInt64(info.st_dev), UInt64(info.st_ino))
        modified = info.st_mtim.tv_sec
        changed = info.st_ctim.tv_sec
    }
}

/// Identifies a file independently of its names.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// The identity of the open file `descriptor`; nil if the system does not report it.
    package init?(_ descriptor: CInt) {
        guard let status = FileStatus(descriptor) else { return nil }
        self.init(status)
    }

    /// The identity of the file at `path`, following symbolic links; nil if there is no such file.
    package init?(_ path: String) {
        guard let status = FileStatus(path) else { return nil }
        self.init(status)
    }

    private init(_ status: FileStatus) { (device, number) = (status.device, status.inode) }
}
