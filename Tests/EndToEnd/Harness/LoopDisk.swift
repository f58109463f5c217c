// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file system on a loop device, whose blocks are in a file in memory. Root can make one where the system lets it,
/// and can do to it what happens to disks.
final class LoopDisk: Sendable {
    private let memory: SmallDisk
    private let mountPoint: TemporaryDirectory
    private let options: String

    /// Whether a loop device can be mounted: a container's root may not.
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
    /// Where the blocks are. What else is put there takes the room of blocks that were never written.
    var memoryPath: String { memory.path }
    private var image: String { "\(memory.path)/image" }

    /// A disk of `megabytes`, of which as many as fit into `memory` megabytes can be written.
    init(megabytes: Int, memory: Int, make: [String], options: String) async throws {
        self.memory = try await SmallDisk(megabytes: memory)
        mountPoint = try TemporaryDirectory()
        self.options = options
        try await run("truncate", ["-s", "\(megabytes)M", image])
        try await run(make[0], make.dropFirst() + [image])
        try await mount()
    }

    /// An ext4 disk without a journal, so that a failure ends when its cause does.
    static func ext4(megabytes: Int, memory: Int, options: String) async throws -> LoopDisk {
        try await LoopDisk(
            megabytes: megabytes, memory: memory,
            make: ["mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard"], options: options)
    }

    /// Mounts the disk, on any loop device.
    func mount() async throws { try await run("mount", ["-o", "loop,\(options)", image, path]) }

    /// Takes the disk away, even from processes that still use it.
    func unmount() async throws { try await run("umount", ["--lazy", path]) }

    /// From now on every call to the file system fails with `EIO`, as if its device had been pulled out, until it is
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
