// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file system in memory with a given size. Only root can make one, if the system permits mounting.
final class SmallDisk: Sendable {
    private let mountPoint: TemporaryDirectory
    var path: String { mountPoint.path }

    /// Whether a mount succeeds: root in a container may be unable to mount.
    static let isPossible: Bool = {
        guard geteuid() == 0, let trial = try? TemporaryDirectory() else { return false }
        guard mount("tmpfs", trial.path, "tmpfs", 0, "size=1m") == 0 else { return false }
        umount2(trial.path, Int32(MNT_DETACH))
        return true
    }()

    init(megabytes: Int) async throws {
        mountPoint = try TemporaryDirectory()
        try await run("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", mountPoint.path])
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }
}
