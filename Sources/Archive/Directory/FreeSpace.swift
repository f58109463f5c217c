// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// Measures how much space of a file system an unprivileged process can still use.
package protocol FreeSpaceProbe: Sendable {
    /// Returns the space on the file system of `path`, which must be writable. Can block for as long as the file system
    /// does.
    func space(at path: String) throws(FileFailure) -> DiskSpace
}

/// The size of a file system, and how much of it is free.
package struct DiskSpace: Sendable, Equatable {
    /// Bytes that an unprivileged process can still use.
    package var free: Int64
    /// Total bytes.
    package var capacity: Int64
    /// The device number, which shows whether two paths share the space.
    package var fileSystem: UInt64
    /// How many files can still be created (free inodes); nil if the file system has no limit of its own.
    package var freeFiles: Int64?

    /// A file system of `capacity` bytes, `free` of them unused.
    package init(free: Int64, capacity: Int64, fileSystem: UInt64 = 0, freeFiles: Int64? = nil) {
        self.free = free
        self.freeFiles = freeFiles
        self.capacity = capacity
        self.fileSystem = fileSystem
    }
}

/// Asks the operating system for the free space.
package struct SystemFreeSpace: FreeSpaceProbe {
    /// A probe of the system.
    package init() {}

    package func space(at path: String) throws(FileFailure) -> DiskSpace {
        var info = statvfs()
        var result: CInt
        repeat { result = statvfs(path, &info) } while result != 0 && errno == EINTR
        guard result == 0 else { throw FileFailure("measure free space of", path, code: errno) }
        guard info.f_flag & Self.readOnly == 0 else { throw FileFailure("write to", path, code: EROFS) }
        var place = stat()
        guard stat(path, &place) == 0 else { throw FileFailure("measure free space of", path, code: errno) }
        // `f_bavail`, not `f_bfree`: space that is reserved for root cannot be used.
        return DiskSpace(
            free: Self.bytes(UInt64(info.f_bavail), UInt64(info.f_frsize)),
            capacity: Self.bytes(UInt64(info.f_blocks), UInt64(info.f_frsize)), fileSystem: UInt64(place.st_dev),
            // A total of 0 inodes means that there is no limit: a file system that creates inodes when they are needed,
            // such as btrfs, reports this.
            freeFiles: info.f_files > 0 ? Int64(clamping: info.f_favail) : nil)
    }

    /// The value of `ST_RDONLY` in `sys/statvfs.h`, which declares it as an enumerator.
    private static let readOnly: UInt = 1

    private static func bytes(_ blocks: UInt64, _ size: UInt64) -> Int64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : Int64(clamping: bytes)
    }
}
