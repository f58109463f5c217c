// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Media
import TestSupport
import Testing

@testable import Archive

/// Compares files with arrays of bytes after the same operations.
@Suite struct FileDescriptorModelTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    /// Writes `bytes` at `offset` of `model`. If `model` is shorter than `offset`, it is filled with zeros.
    private func put(_ bytes: [UInt8], at offset: Int, into model: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        if model.count < offset + bytes.count {
            model += [UInt8](repeating: 0, count: offset + bytes.count - model.count)
        }
        model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    @Test func `A file has the expected bytes after any sequence of writes, truncations and copies`() throws {
        var random = SeededRandom()
        let file = try FileDescriptor.create(temporary.path("file"))
        let source = try FileDescriptor.create(temporary.path("source"))
        let other = random.bytes(5000)
        try source.write([SharedBytes(other)], at: 0)
        var model: [UInt8] = []
        for _ in 0..<300 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                let size = Int.random(in: 0...6000, using: &random)
                try file.truncate(to: Int64(size))
                model =
                    model.count > size
                    ? Array(model[..<size]) : model + [UInt8](repeating: 0, count: size - model.count)
            case 1:
                let first = Int.random(in: 0...other.count, using: &random)
                let last = Int.random(in: first...other.count, using: &random)
                let offset = Int.random(in: 0...3000, using: &random)
                try file.copy(Int64(first)..<Int64(last), of: source, to: Int64(offset))
                put(Array(other[first..<last]), at: offset, into: &model)
            default:
                // Some pieces are empty.
                let sizes = (0..<Int.random(in: 0...30, using: &random)).map { _ in
                    max(0, Int.random(in: -40...120, using: &random))
                }
                let pieces = sizes.map { random.bytes($0) }
                let offset = Int.random(in: 0...3000, using: &random)
                try file.write(pieces.map { SharedBytes($0) }, at: Int64(offset))
                put(Array(pieces.joined()), at: offset, into: &model)
            }
            #expect(try file.size() == Int64(model.count))
            #expect(try file.read(at: 0, count: model.count + 10) == model)
            let start = Int.random(in: 0...model.count + 5, using: &random)
            let count = Int.random(in: 0...model.count + 5, using: &random)
            let expected = Array(model.dropFirst(start).prefix(count))
            #expect(try file.read(at: Int64(start), count: count) == expected)
        }
    }

    @Test func `All parts of a write are written, even if they exceed one system call's limit or are empty`() throws {
        let file = try FileDescriptor.create(temporary.path("file"))
        let pieces = (0..<3000).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: $0 % 3) }
        try file.write(pieces.map { SharedBytes($0) }, at: 7)
        let expected = [UInt8](repeating: 0, count: 7) + Array(pieces.joined())
        #expect(try file.read(at: 0, count: expected.count + 1) == expected)
        try file.write([], at: 0)
        try file.write([SharedBytes([]), SharedBytes([])], at: 100_000)
        #expect(try file.size() == Int64(expected.count))
    }

    @Test func `Copying beyond the end of a file fails, and the error names the file that is too short`() throws {
        let file = try FileDescriptor.create(temporary.path("file"))
        let source = try FileDescriptor.create(temporary.path("source"))
        try source.write([SharedBytes([1, 2, 3])], at: 0)
        let failure = #expect(throws: FileFailure.self) { try file.copy(1..<9, of: source, to: 0) }
        #expect(failure == FileFailure("read", temporary.path("source"), text: "it ends too early"))
        #expect(try file.read(at: 0, count: 9) == [2, 3])
    }

    @Test func `Creating an existing file, opening a missing one and writing to a read-only one fail`() throws {
        _ = try FileDescriptor.create(temporary.path("file"))
        #expect(throws: FileFailure("create", temporary.path("file"), code: EEXIST)) {
            try FileDescriptor.create(temporary.path("file"))
        }
        for path in ["none", "file/below"].map({ temporary.path($0) }) {
            #expect(throws: FileFailure.self) { try FileDescriptor.open(existing: path) }
            #expect(throws: FileFailure.self) { try FileDescriptor.open(readOnly: path) }
            #expect(throws: FileFailure.self) { try FileDescriptor.open(directory: path) }
        }
        let reader = try FileDescriptor.open(readOnly: temporary.path("file"))
        #expect(throws: FileFailure("write", temporary.path("file"), code: EBADF)) {
            try reader.write([SharedBytes([1])], at: 0)
        }
    }

    @Test func `Directory entries are created, renamed and removed, and no existing entry is replaced`() throws {
        let directory = try FileDescriptor.open(directory: temporary.path)
        _ = try directory.create(entry: "any/path/a")
        #expect(throws: FileFailure("create", temporary.path("a"), code: EEXIST)) { try directory.create(entry: "a") }
        _ = try directory.create(entry: "b")
        #expect(try !directory.rename(entry: "a", to: "b"))
        #expect(try directory.rename(entry: "x/a", to: "y/c"))
        #expect(temporary.files == ["b", "c"])
        #expect(throws: FileFailure.self) { try directory.rename(entry: "a", to: "d") }
        #expect(try directory.remove(entry: "b"))
        #expect(try !directory.remove(entry: "b"))
        #expect(temporary.files == ["c"])
    }

    @Test
    func `Writing to a file changes its size and its version, but not its inode number`() throws {
        let file = try FileDescriptor.create(temporary.path("file"))
        let (version, stamp) = (try file.version(), try file.stamp())
        #expect(try file.version() == version)
        try file.write([SharedBytes([1])], at: 0)
        #expect(try file.version() != version)
        let written = try file.stamp()
        #expect(written != stamp && written.size == 1 && written.number == stamp.number)
        let other = try FileDescriptor.create(temporary.path("other"))
        #expect(try other.stamp().number != stamp.number)
    }

    @Test func `The status of a file or link has its kind, its size and whether other users may access it`() throws {
        try temporary.write([1, 2], to: "file")
        let manager = FileManager.default
        try manager.createDirectory(atPath: temporary.path("directory"), withIntermediateDirectories: false)
        try manager.createSymbolicLink(
            atPath: temporary.path("link"), withDestinationPath: temporary.path("file"))
        try #require(mkfifo(temporary.path("pipe"), 0o600) == 0)
        try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: temporary.path("file"))
        let file = try #require(FileStatus(temporary.path("file")))
        #expect(file.kind == .regular && file.size == 2 && !file.isOpenToOthers)
        #expect(FileStatus(temporary.path("directory"))?.kind == .directory)
        #expect(FileStatus(temporary.path("pipe"))?.kind == .other)
        let listener = try UnixListener(temporary.path("socket"))
        #expect(FileStatus(temporary.path("socket"))?.kind == .socket)
        withExtendedLifetime(listener) {}
        #expect(FileStatus(temporary.path("link"))?.kind == .regular)
        #expect(FileStatus(ofLink: temporary.path("link"))?.kind == .link)
        #expect(FileStatus(temporary.path("none")) == nil && FileStatus(-1) == nil)
        #expect(FileIdentity(temporary.path("link")) == FileIdentity(temporary.path("file")))
        #expect(FileIdentity(temporary.path("pipe")) != FileIdentity(temporary.path("file")))
        #expect(FileIdentity(temporary.path("none")) == nil)
        for mode in [0o640, 0o604, 0o601] {
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: temporary.path("file"))
            #expect(FileStatus(temporary.path("file"))?.isOpenToOthers == true)
        }
    }

    // MARK: Files that get their final names when they are finished

    @Test func `The temporary names for an output file are unique, and are found for that output file only`() throws {
        let path = temporary.path("clip.mp4")
        let hidden = (0..<3).map { _ in FinishedFile.hidden(beside: path) }
        #expect(Set(hidden).count == 3 && hidden.allSatisfy { $0.hasPrefix(temporary.path(".clip.mp4.")) })
        for name in hidden { _ = try FileDescriptor.create(name) }
        for name in [
            ".clip.mp4.1-2.part.part", ".clip.mp4.1-2", ".clip.mp4.1.part", ".clip.mp4.1-2-3.part",
            ".clip.mp4.a-b.part",
            ".clip.mp4.resume", ".clip.mp41-2.part", ".other.mp4.1-2.part",
        ] {
            try temporary.write([1], to: name)
        }
        #expect(Set(FinishedFile.hiddenPaths(of: path)) == Set(hidden))
        #expect(FinishedFile.hiddenPaths(of: temporary.path("other.mp4")) == [temporary.path(".other.mp4.1-2.part")])
        #expect(FinishedFile.hiddenPaths(of: temporary.path("none/clip.mp4")).isEmpty)
        #expect(FinishedFile.journal(beside: path) == temporary.path(".clip.mp4.resume"))
        // The system accepts no name of more than 255 bytes.
        let long = FinishedFile.hidden(beside: temporary.path(String(repeating: "n", count: 250)))
        #expect(long.split(separator: "/").last.map { $0.utf8.count <= 255 } == true)
    }

    @Test func `Temporary files of killed runs are removed, but not a file that a run is still writing`() throws {
        let path = temporary.path("clip.mp4")
        let (left, used) = (FinishedFile.hidden(beside: path), FinishedFile.hidden(beside: path))
        let writer = try FileDescriptor.create(used)
        #expect(writer.lockCreated())
        try writer.write([SharedBytes([1])], at: 0)
        try FileDescriptor.create(left).write([SharedBytes([1])], at: 0)
        FinishedFile.removeLeftovers(of: path)
        #expect(FinishedFile.hiddenPaths(of: path) == [used])
        writer.unlock()
        FinishedFile.removeLeftovers(of: path)
        #expect(temporary.all.isEmpty)
    }

    @Test
    func `A finished file gets its final name, and replaces an existing file only if that was requested`() throws {
        let (hidden, path) = (temporary.path(".hidden"), temporary.path("clip.mp4"))
        try temporary.write([1], to: ".hidden")
        try FinishedFile.publish(hidden, as: path, replaces: false)
        #expect(temporary.all == ["clip.mp4"])
        try temporary.write([2], to: ".hidden")
        #expect(throws: FileFailure("create", path, code: EEXIST)) {
            try FinishedFile.publish(hidden, as: path, replaces: false)
        }
        #expect(try temporary.bytes("clip.mp4") == [1])
        #expect(try temporary.bytes(".hidden") == [2])
        try FinishedFile.publish(hidden, as: path, replaces: true)
        #expect(try temporary.bytes("clip.mp4") == [2])
        #expect(temporary.all == ["clip.mp4"])
        #expect(throws: FileFailure.self) { try FinishedFile.publish(hidden, as: path, replaces: true) }
        #expect(throws: FileFailure.self) { try FinishedFile.publish(hidden, as: path, replaces: false) }
    }

    @Test
    func `The check for free space passes if there is enough, and otherwise its error names what needs the space`()
        throws
    {
        try FinishedFile.checkRoom(for: 0, at: temporary.path("clip.mp4"), "a clip needs")
        let failure = #expect(throws: FileFailure.self) {
            try FinishedFile.checkRoom(for: .max, at: temporary.path("clip.mp4"), "a clip needs")
        }
        #expect(failure?.description.contains("a clip needs") == true && failure?.code == 0)
        let space = try SystemFreeSpace().space(at: temporary.path)
        #expect(space.free >= 0 && space.free <= space.capacity)
        #expect(throws: FileFailure.self) { try SystemFreeSpace().space(at: temporary.path("none")) }
    }
}
