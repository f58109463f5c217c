// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Finds where file systems are mounted in the directory tree. A file system is identified by its device number, so a
/// directory that is mounted over itself, as systemd does for `ReadWritePaths=`, does not count as a mount point. All
/// calls block on the disk.
enum MountPoint {
    /// The root directory, at which a file system is always mounted.
    static let root = "/"

    /// Returns the mount point of the file system of `path`, or of its longest existing part.
    static func of(_ path: String) -> String {
        var place = existing(path)
        guard let device = device(of: place) else { return root }
        while place != root {
            let parent = self.parent(of: place)
            guard self.device(of: parent) == device else { return place }
            place = parent
        }
        return root
    }

    /// Whether a file system is mounted at `path`, which must not contain a symbolic link.
    static func isMounted(_ path: String) -> Bool {
        if path == root { return true }
        guard let device = device(of: path) else { return false }
        return device != self.device(of: parent(of: path))
    }

    /// Returns the deepest existing directory on the way to `path`, without symbolic links.
    static func existing(_ path: String) -> String {
        var place = path
        while true {
            if let resolved = realpath(place, nil) {
                defer { free(resolved) }
                return String(cString: resolved)
            }
            guard place.contains("/"), place != root else { return place == root ? root : existing(".") }
            place = parent(of: place)
        }
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? root : String(path[..<slash])
    }

    private static func device(of path: String) -> UInt64? {
        var info = stat()
        return stat(path, &info) == 0 ? UInt64(info.st_dev) : nil
    }
}

/// Where file systems are mounted, as the operating system or a test tells it. All calls block on the disk.
package struct MountView: Sendable {
    /// Returns the mount point of the file system of a path, or of its longest existing part.
    let point: @Sendable (String) -> String
    /// Whether a file system is mounted at a path.
    let isMounted: @Sendable (String) -> Bool

    /// The answers of the operating system.
    package static let system = MountView(point: MountPoint.of, isMounted: MountPoint.isMounted)

    package init(
        point: @escaping @Sendable (String) -> String, isMounted: @escaping @Sendable (String) -> Bool
    ) {
        (self.point, self.isMounted) = (point, isMounted)
    }
}

/// Identifies a file system. A disk that replaces another one can have the same device number, but not the same
/// identifier (if the file system has an identifier).
struct FileSystemNumber: Hashable, Sendable {
    private let device: UInt64
    private let identifier: UInt64

    /// The file system of the directory `path`.
    init(of path: String) throws(FileFailure) {
        device = try RecordDirectory.device(of: path)
        var info = statvfs()
        var result: CInt
        repeat { result = statvfs(path, &info) } while result != 0 && errno == EINTR
        guard result == 0 else { throw FileFailure("open directory", path, code: errno) }
        identifier = UInt64(info.f_fsid)
    }

    /// Whether the open file or directory `file` is on the device of this file system.
    func contains(_ file: FileDescriptor) throws(FileFailure) -> Bool {
        UInt64(try file.information().st_dev) == device
    }
}
