// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A mount point on the root disk, and two file systems in memory that can be mounted there one after the other. Only
/// root can mount them. The directory below the mount point is visible all the time.
final class SwappedDisks: Sendable {
    private let directory: TemporaryDirectory
    /// The mount point.
    var path: String { directory.file("disk") }
    /// The directory below the mount point, whether a disk is mounted or not.
    var under: String { directory.file("view/disk") }
    /// The directories of the two disks, whose files are visible here whether the disks are mounted or not.
    var first: String { directory.file("first") }
    var second: String { directory.file("second") }

    /// Whether root may mount here, and temporary directories are on the root disk, so that a mount there counts as a
    /// disk.
    static let isPossible: Bool = {
        var (root, trial) = (stat(), stat())
        guard SmallDisk.isPossible, stat("/", &root) == 0, stat(NSTemporaryDirectory(), &trial) == 0 else {
            return false
        }
        return root.st_dev == trial.st_dev
    }()

    init() async throws {
        directory = try TemporaryDirectory()
        for path in [path, first, second, directory.file("view")] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        for disk in [first, second] { try await run("mount", ["-t", "tmpfs", "-o", "size=50m", "tmpfs", disk]) }
        // Disks that are mounted below do not appear in this view.
        try await run("mount", ["--bind", "--make-private", directory.path, directory.file("view")])
    }

    /// Mounts `disk`, which is one of the two.
    func mount(_ disk: String) throws {
        guard Glibc.mount(disk, path, nil, UInt(MS_BIND), nil) == 0 else {
            throw HarnessFailure("\(disk) cannot be mounted: errno \(errno).")
        }
    }

    /// Unmounts the disk that was mounted last, even if it is in use.
    func unmount() throws {
        guard umount2(path, Int32(MNT_DETACH)) == 0 else { throw HarnessFailure("umount: errno \(errno).") }
    }

    deinit {
        for path in [path, directory.file("view"), first, second] { umount2(path, Int32(MNT_DETACH)) }
    }
}
