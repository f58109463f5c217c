// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport

/// A mounted file system whose blocks are in a file. Only root can create one, and only where the system permits it.
final class LoopDisk {
    let temporary: TemporaryDirectory
    var path: String { temporary.path("mount") }
    var image: String { temporary.path("image") }

    /// Makes and mounts a file system of 16 MiB with the command `make`. Returns nil if that is not possible.
    init?(make: [String] = ["mkfs.ext4", "-q"]) throws {
        temporary = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: temporary.path("mount"), withIntermediateDirectories: true)
        guard geteuid() == 0, Self.run(["truncate", "-s", "16M", image]), Self.run(make + [image]),
            Self.run(["mount", "-o", "loop", image, path])
        else { return nil }
    }

    deinit { _ = Self.run(["umount", "--lazy", path]) }

    private static func run(_ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
