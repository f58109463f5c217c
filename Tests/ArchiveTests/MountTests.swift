// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Archive

/// A symbolic link takes the place of a mount point. Its target is on another file system, or in another directory.
@Suite("Record directories on disks that are mounted and unmounted")
struct MountTests {
    private let temporary: TemporaryDirectory
    private let memory: MountMemory
    private var path: String { temporary.path("place") }

    init() throws {
        temporary = try TemporaryDirectory()
        memory = MountMemory(directory: temporary.path("state/mounts"))
    }

    /// Redirects ``path`` to the directory `name`, which is created if it is missing.
    private func mount(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: temporary.path(name), withIntermediateDirectories: true)
        unlink(path)
        try #require(symlink(temporary.path(name), path) == 0)
    }

    @Test("The mount point of a record directory is remembered, changed and forgotten, whatever the path contains")
    func remembers() throws {
        let (odd, other) = ("/srv/a%2Fb c/ü", "/srv/a/b c/ü")
        memory.remember(odd, .init(mountPoint: "/srv", mark: ".relay-archive-1"))
        #expect(memory.recall(odd) == .init(mountPoint: "/srv", mark: ".relay-archive-1"))
        #expect(memory.recall(odd + "/") == memory.recall(odd) && memory.recall(other) == nil)
        memory.remember(odd, .init(mountPoint: "/srv/a", mark: ".relay-archive-2"))
        #expect(memory.recall(odd)?.mountPoint == "/srv/a")
        memory.forget(odd)
        #expect(memory.recall(odd) == nil)
        try temporary.write([0xFF, 0x0A], to: "state/mounts/%2Fsrv")
        #expect(memory.recall("/srv") == nil, "what is damaged is not remembered")
        #expect(MountMemory().recall(odd) == nil)
    }

    @Test(
        "relay creates no file in the empty mount point of a known disk, unless the mount check is off")
    func waits() throws {
        try FileManager.default.createDirectory(atPath: temporary.path("disk"), withIntermediateDirectories: false)
        let path = temporary.path("disk/recordings")
        memory.remember(path, .init(mountPoint: temporary.path("disk"), mark: ".relay-archive-1"))
        let directory = try RecordDirectory.prepare(path, memory: memory)
        #expect(directory.isAwaited)
        for _ in 1...2 {
            let failure = #expect(throws: FileFailure.self) { try directory.checkMount() }
            #expect(failure?.description.contains("its disk is not mounted at \(temporary.path("disk"))") == true)
        }
        #expect(throws: FileFailure.self) { try directory.probe(bytes: 1) }
        #expect(throws: FileFailure.self) { try SegmentRecovery.run(in: directory, channel: "test") }
        #expect(throws: FileFailure.self) { try memory.checkMount(of: path, .remembered) }
        #expect(!FileManager.default.fileExists(atPath: path))

        let other = try RecordDirectory.prepare(path, mount: .ignored, memory: memory)
        #expect(!other.isAwaited && FileManager.default.fileExists(atPath: path) && memory.recall(path) == nil)
    }

    @Test(
        "A directory on another disk gets its own mark, and the first directory is recognized when its disk returns"
    )
    func swapped() throws {
        try mount("first")
        let directory = try RecordDirectory.prepare(path, memory: memory)
        let first = try #require(directory.mark)
        #expect(directory.generation == 1)
        try directory.checkMount()
        #expect(directory.generation == 1)
        try mount("second")
        try directory.checkMount()
        let second = try #require(directory.mark)
        #expect(directory.generation == 2 && second != first)
        #expect(FileManager.default.fileExists(atPath: temporary.path("second/\(second)")))
        try mount("first")
        try directory.checkMount()
        #expect(directory.generation == 3 && directory.mark == first)
    }

    @Test(
        "If a file system is mounted after the start, relay uses it and remembers its mount point",
        .enabled(if: access("/dev/shm", W_OK) == 0, "there is no file system in memory"))
    func otherFileSystem() throws {
        try mount("first")
        let directory = try RecordDirectory.prepare(path, memory: memory)
        let shared = "/dev/shm/relay-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: shared) }
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        unlink(path)
        try #require(symlink(shared, path) == 0)
        try directory.checkMount()
        #expect(directory.generation == 2)
        #expect(memory.recall(path)?.mountPoint == "/dev/shm" && memory.recall(path)?.mark == directory.mark)
    }

    @Test(
        "A record directory is not opened for a new file if its file system has changed since the last check",
        .enabled(if: access("/dev/shm", W_OK) == 0, "there is no file system in memory"))
    func changedSinceCheck() throws {
        try mount("first")
        let directory = try RecordDirectory.prepare(path, memory: memory)
        let shared = "/dev/shm/relay-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: shared) }
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        let name = SegmentName(channel: "test", start: UTCTime(milliseconds: 0), sequence: 1)
        try directory.checkMount()
        let first = try directory.openParent(of: name)
        unlink(path)
        try #require(symlink(shared, path) == 0)
        #expect(throws: FileFailure.self) { try directory.openParent(of: name) }
        // The directory that was opened before stays on the first file system.
        _ = try first.create(entry: name.open)
        #expect(FileManager.default.fileExists(atPath: temporary.path("first/\(name.open)")))
        try directory.checkMount()
        _ = try directory.openParent(of: name).create(entry: name.open)
        #expect(FileManager.default.fileExists(atPath: "\(shared)/\(name.open)"))
    }
}
