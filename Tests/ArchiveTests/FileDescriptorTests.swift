// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RecordingSamples
import TestSupport
import Testing

@testable import Archive

@Suite struct FileDescriptorTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path("file") }

    init() throws {
        directory = try TemporaryDirectory()
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: directory.path("file")))
    }

    // Regression: `lock()` took every failure of flock for a lock of another process. Recovery then never ran, and
    // retention deleted nothing.
    @Test(arguments: [ENOLCK, ENOSYS, EBADF, EOPNOTSUPP])
    func `On a file system without locks a file that relay has not locked does not count as in use`(code: CInt) throws {
        let file = try FileDescriptor.open(existing: path) { _, _ in code }
        #expect(file.lock())
        #expect(file.lockCreated())
    }

    @Test func `On a file system without file locks relay still knows which files it has locked itself`() throws {
        let writer = try FileDescriptor.open(existing: path) { _, _ in ENOLCK }
        #expect(writer.lock())
        do {
            let second = try FileDescriptor.open(readOnly: path) { _, _ in ENOLCK }
            #expect(!second.lock())
        }
        writer.unlock()
        #expect(try FileDescriptor.open(existing: path) { _, _ in ENOLCK }.lock())
    }

    @Test func `A file counts as in use only if another open descriptor of the file holds its lock`() throws {
        let writer = try FileDescriptor.open(existing: path)
        #expect(writer.lock())
        #expect(try !FileDescriptor.open(existing: path).lock())
        #expect(try !FileDescriptor.open(readOnly: path).lock())
        writer.unlock()
        #expect(try FileDescriptor.open(readOnly: path).lock())
    }

    // NFS maps flock to a POSIX lock, and refuses an exclusive one on a read-only descriptor (flock(2)).
    @Test func `A read-only descriptor detects the lock of another process on NFS`() throws {
        let taken: FileDescriptor.LockCall = { _, operation in operation & LOCK_EX != 0 ? EBADF : EWOULDBLOCK }
        #expect(try !FileDescriptor.open(readOnly: path, lockCall: taken).lock())
    }

    // Regression: files were renamed by a hard link and an unlink. If the process was killed in between, both names
    // stayed.
    @Test func `A file is renamed in one step, and never replaces another file`() throws {
        let events = inotify_init1(CInt(IN_NONBLOCK))
        try #require(events >= 0)
        defer { close(events) }
        let mask = UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_TO)
        try #require(inotify_add_watch(events, directory.path, mask) >= 0)
        #expect(try FileDescriptor.rename(path, to: directory.path("name")))
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { read(events, $0.baseAddress, $0.count) }
        try #require(count >= 16)
        let first = buffer[4..<8].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        #expect(first & mask == UInt32(IN_MOVED_TO), "the name was linked, and the old one removed")

        try Data([9]).write(to: URL(fileURLWithPath: path))
        #expect(try !FileDescriptor.rename(path, to: directory.path("name")))
        #expect(directory.files == ["file", "name"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.path("name"))) == Data([1, 2, 3]))
    }
}
