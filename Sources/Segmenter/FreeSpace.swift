// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// Tells how much space an unprivileged process may still use.
public protocol FreeSpaceProbe: Sendable {
    /// Free bytes on the file system of `path`. May block for as long as the file system does.
    func freeBytes(at path: String) throws(FileFailure) -> Int64
}

/// Asks the system.
public struct SystemFreeSpace: FreeSpaceProbe {
    /// A probe of the system.
    public init() {}

    public func freeBytes(at path: String) throws(FileFailure) -> Int64 {
        var info = statvfs()
        var result: CInt
        repeat { result = statvfs(path, &info) } while result != 0 && errno == EINTR
        guard result == 0 else { throw FileFailure("measure free space of", path, code: errno) }
        // `f_bavail`, not `f_bfree`: what is reserved for root is of no use.
        let (bytes, overflow) = UInt64(info.f_bavail).multipliedReportingOverflow(by: UInt64(info.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }
}
