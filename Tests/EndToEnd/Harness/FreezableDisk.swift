// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file system of its own on a loop device. It can be made to block all writes for a while. Only root can make one,
/// and only if the system has loop devices.
final class FreezableDisk: Sendable {
    private let directory: TemporaryDirectory
    var path: String { directory.file("disk") }
    private var image: String { directory.file("image") }

    /// Whether such a disk can be made here: root in a container may be unable to mount, and some kernels have no loop
    /// devices.
    static let isPossible: Bool = {
        guard geteuid() == 0, let trial = try? TemporaryDirectory() else { return false }
        return (try? make(trial, megabytes: 8)).map { umount2(trial.file("disk"), Int32(MNT_DETACH)) == 0 } ?? false
    }()

    init(megabytes: Int) async throws {
        directory = try TemporaryDirectory()
        try Self.make(directory, megabytes: megabytes)
    }

    deinit {
        thaw()
        umount2(path, Int32(MNT_DETACH))
    }

    /// From now on, blocks every write.
    func freeze() throws { try Self.tool("fsfreeze", "--freeze", path) }

    /// Lets writes continue. Does nothing if the disk is not frozen.
    func thaw() { try? Self.tool("fsfreeze", "--unfreeze", path) }

    private static func make(_ directory: TemporaryDirectory, megabytes: Int) throws {
        let (image, path) = (directory.file("image"), directory.file("disk"))
        guard FileManager.default.createFile(atPath: image, contents: nil) else {
            throw HarnessFailure("\(image) cannot be created.")
        }
        try FileHandle(forWritingTo: URL(fileURLWithPath: image)).truncate(atOffset: UInt64(megabytes) << 20)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try tool("mkfs.ext4", "-q", "-F", image)
        // The loop device is removed when the file system is unmounted.
        try tool("mount", "-o", "loop", image, path)
    }

    /// Runs a tool to its end. Can also be called where `await` is not possible.
    private static func tool(_ name: String, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Tools.path(of: name))
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw HarnessFailure("\(name) \(arguments) ended with \(process.terminationStatus).")
        }
    }
}
