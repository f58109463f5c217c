// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file system on a loop device whose blocks are in a file in memory. Only root can make one, if the system permits
/// it. It can be made to fail as disks fail.
final class LoopDisk: Sendable {
    private let memory: SmallDisk
    private let mountPoint: TemporaryDirectory
    private let options: String

    /// Whether a loop device can be mounted: root in a container may be unable to.
    static let isPossible: Bool = {
        guard SmallDisk.isPossible, let program = try? Tools.path(of: "losetup") else { return false }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["--find"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    var path: String { mountPoint.path }
    /// The directory that contains the blocks. Other files here use the space of blocks that were never written.
    var memoryPath: String { memory.path }
    private var image: String { "\(memory.path)/image" }

    /// Creates a disk that reports `megabytes`, of which only as many can be written as fit into `memory` megabytes.
    init(megabytes: Int, memory: Int, make: [String], options: String) async throws {
        self.memory = try await SmallDisk(megabytes: memory)
        mountPoint = try TemporaryDirectory()
        self.options = options
        try await run("truncate", ["-s", "\(megabytes)M", image])
        try await run(make[0], make.dropFirst() + [image])
        try await mount()
    }

    /// Makes an ext4 disk without a journal, so that a failure ends as soon as its cause does.
    static func ext4(megabytes: Int, memory: Int, options: String) async throws -> LoopDisk {
        try await LoopDisk(
            megabytes: megabytes, memory: memory,
            make: ["mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard"], options: options)
    }

    /// Mounts the disk, with any loop device.
    func mount() async throws { try await run("mount", ["-o", "loop,\(options)", image, path]) }

    /// Unmounts the disk, even if processes still use it.
    func unmount() async throws { try await run("umount", ["--lazy", path]) }

    /// From now on, every call to the file system fails with `EIO`, as if its device had been unplugged, until it is
    /// unmounted and mounted again.
    func fail() throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        // `EXT4_IOC_SHUTDOWN`, `_IOR('X', 125, __u32)`, with `EXT4_GOING_FLAGS_NOLOGFLUSH` (Linux, fs/ext4/ext4.h).
        var flags: UInt32 = 2
        guard ioctl(descriptor, 0x8004_587D, &flags) == 0 else {
            throw HarnessFailure("\(path) cannot be shut down: errno \(errno).")
        }
    }

    /// The name of the loop device, such as `loop0`.
    var device: String {
        get throws {
            let mounts = try String(contentsOfFile: "/proc/mounts", encoding: .utf8)
            let line = mounts.split(separator: "\n").last { $0.contains(" \(path) ") }
            guard let name = line?.split(separator: " ").first, name.hasPrefix("/dev/") else {
                throw HarnessFailure("Nothing is mounted at \(path).")
            }
            return String(name.dropFirst(5))
        }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }
}
