// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file system in memory of a given size, which only root can make.
final class SmallDisk: Sendable {
    private let mountPoint: TemporaryDirectory
    var path: String { mountPoint.path }

    static var isPossible: Bool { geteuid() == 0 }

    init(megabytes: Int) async throws {
        mountPoint = try TemporaryDirectory()
        try await run("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", mountPoint.path])
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }
}
