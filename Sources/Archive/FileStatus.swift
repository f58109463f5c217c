// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What stat(2) says about a file, as values.
///
/// Targets that import a C library besides Glibc read a file's status through this type: for them the fields of
/// `struct stat` may belong to the module of that library, which they do not import, and then they do not compile.
package struct FileStatus: Sendable {
    /// What a name in a directory refers to.
    package enum Kind: Sendable {
        case regular, directory, link, other
    }

    package let kind: Kind
    /// Its length in bytes.
    package let size: Int64
    /// Whether others than its owner may read, write or execute it.
    package let isOpenToOthers: Bool
    /// The file system that it is on, and its number there: what `st_dev` and `st_ino` are.
    package let device: UInt64, inode: UInt64
    /// When its bytes were last changed, in seconds since 1970.
    package let modified: Int
    /// When its bytes or its status were last changed, in seconds since 1970.
    package let changed: Int

    /// The file at `path`, to which symbolic links lead; nil if there is no such file or the system does not say.
    package init?(_ path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    /// The file at `path`, or the symbolic link itself; nil if there is no such file or the system does not say.
    package init?(ofLink path: String) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    /// The open file `descriptor`; nil if the system does not say.
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
            default: .other
            }
        size = Int64(info.st_size)
        isOpenToOthers = info.st_mode & 0o077 != 0
        (device, inode) = (UInt64(info.st_dev), UInt64(info.st_ino))
        modified = info.st_mtim.tv_sec
        changed = info.st_ctim.tv_sec
    }
}
