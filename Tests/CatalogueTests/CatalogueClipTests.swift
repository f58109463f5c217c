// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import Glibc
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// Clips in the catalogue, and the files that they protect from deletion.
@Suite struct CatalogueClipTests {
    private let directory: TemporaryDirectory
    private let names: [String]
    private let ledger: ChannelLedger
    private let hold: ClipHold
    private let run: String
    private var database: String { directory.path(".relay.sqlite") }

    /// Makes five files of two seconds at 25 frames per second.
    init() throws {
        directory = try Recording.make()
        names = directory.files
        let target = try RecordDirectory.prepare(directory.path)
        ledger = ChannelLedger(directory: target, channel: "test")
        hold = ClipHold(directory: target, channel: "test")
        run = try #require(try ledger.kept().first?.run)
    }

    private func clip(_ id: String, _ first: Int64, _ end: Int64?, run: String? = nil) -> CatalogueClip {
        CatalogueClip(
            .init(id: id, run: run ?? self.run, first: first, end: end, lacking: 2, isComplete: end != nil),
            channel: "test", rate: Recording.rate, start: 1_700_000_000_000 + first, name: "Goal \"\(id)\"")
    }

    private var kept: [Bool] { names.map { !hold.mayDelete($0) } }

    @Test func `Clips are stored in the catalogue, read, changed and removed`() throws {
        #expect(try ledger.clips() == [])
        var (one, two) = (clip("one", 60, 70), clip("two", 10, nil))
        let identity = try ledger.note([one, two], removing: [])
        #expect(try ledger.clips() == [two, one])
        (one.released, one.audioOffset) = (1_800_000_000_000, -20_000_000)
        two.clip = .init(id: "two", run: run, first: 10, end: 40)
        #expect(try ledger.note([one, two], removing: [], checked: identity) == identity)
        #expect(try ledger.clips() == [two, one])
        #expect(try ChannelLedger(directory: try .prepare(directory.path), channel: "other").clips() == [])
        _ = try ledger.note([], removing: ["two", "nothing"])
        #expect(try ledger.clips() == [one])
    }

    @Test
    func `A clip that is not exported protects the files of its frames and of one frame on each side from deletion`()
        throws
    {
        #expect(kept == [false, false, false, false, false])
        _ = try ledger.note([clip("x", 60, 70)], removing: [])
        #expect(kept == [false, true, false, false, false])
        // The clip's handles, one frame on each side, are in the adjacent files.
        _ = try ledger.note([clip("x", 50, 100)], removing: [])
        #expect(kept == [true, true, true, false, false])
        _ = try ledger.note([clip("x", 51, 99)], removing: [])
        #expect(kept == [false, true, false, false, false])
        _ = try ledger.note([clip("x", 120, nil)], removing: [])
        #expect(kept == [false, false, true, true, true])
        _ = try ledger.note([clip("x", 120, nil, run: "other")], removing: [])
        #expect(kept == [false, false, false, false, false])
        var exported = clip("x", 60, 70)
        exported.released = 1_800_000_000_000
        _ = try ledger.note([exported, clip("y", 210, 220)], removing: [])
        #expect(kept == [false, false, false, false, true])
        _ = try ledger.note([], removing: ["y"])
        #expect(kept == [false, false, false, false, false])
    }

    @Test
    func `Retention reads a file's sample tables only once for all its checks, and again after the file changed`()
        throws
    {
        _ = try ledger.note([clip("x", 60, 70)], removing: [])
        let reads = Reads()
        let hold = ClipHold(directory: try .prepare(directory.path), channel: "test") { path in
            reads.count.withLock { $0 += 1 }
            return try SegmentReader.read(path)
        }
        // If a file was written just now, a further change may leave its attributes unchanged. So the files get an
        // older time.
        let before = Date(timeIntervalSinceNow: -60)
        for name in names {
            try FileManager.default.setAttributes([.modificationDate: before], ofItemAtPath: directory.path(name))
        }
        for _ in 0..<10 { #expect(names.map { !hold.mayDelete($0) } == [false, true, false, false, false]) }
        #expect(reads.count.withLock { $0 } == names.count)
        // When the clips change, no file is read again.
        _ = try ledger.note([clip("x", 120, nil)], removing: [])
        #expect(names.map { !hold.mayDelete($0) } == [false, false, true, true, true])
        #expect(reads.count.withLock { $0 } == names.count)
        // The second file gets the content of the third.
        try FileManager.default.removeItem(atPath: directory.path(names[1]))
        try FileManager.default.copyItem(atPath: directory.path(names[2]), toPath: directory.path(names[1]))
        try FileManager.default.setAttributes(
            [.modificationDate: before.addingTimeInterval(30)], ofItemAtPath: directory.path(names[1]))
        #expect(names.map { !hold.mayDelete($0) } == [false, true, true, true, true])
        #expect(reads.count.withLock { $0 } == names.count + 1)
    }

    // Regression: if too many files were open, or if a disk failed for a moment, files of clips could be deleted.
    @Test func `While a channel has a clip, no file that the system cannot read is deleted`() throws {
        _ = try ledger.note([clip("x", 60, 70)], removing: [])
        let code = Mutex<Int32>(EMFILE)
        let hold = ClipHold(directory: try .prepare(directory.path), channel: "test") { path in
            let current = code.withLock { $0 }
            if current != 0 { throw SegmentReadFailure.file(FileFailure("open", path, code: current)) }
            return try SegmentReader.read(path)
        }
        #expect(names.map { !hold.mayDelete($0) } == [true, true, true, true, true])
        // No clip protects a file that no longer exists.
        code.withLock { $0 = ENOENT }
        #expect(names.map { !hold.mayDelete($0) } == [false, false, false, false, false])
        code.withLock { $0 = 0 }
        #expect(names.map { !hold.mayDelete($0) } == [false, true, false, false, false])
    }

    // Regression: a page of the catalogue was damaged just after a clip was added, and files of the clip were deleted.
    @Test func `While a changed catalogue cannot be read, no file is deleted, because clips can be new`() throws {
        _ = try ledger.note([clip("x", 60, 70)], removing: [])
        #expect(kept == [false, true, false, false, false])
        try FileManager.default.removeItem(atPath: database)
        try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
        #expect(kept == [true, true, true, true, true])
        #expect(throws: (any Error).self) { try ledger.clips() }
    }

    @Test func `No file is deleted until the catalogue has been read once`() throws {
        try FileManager.default.removeItem(atPath: database)
        try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
        #expect(kept == [true, true, true, true, true])
    }

    @Test func `A clip whose row in the catalogue is damaged is omitted from the list of clips`() throws {
        _ = try ledger.note([clip("x", 60, 70), clip("y", 80, 90)], removing: [])
        try DatabaseQueue(path: database).write {
            try $0.execute(sql: "UPDATE clips SET end_frame = 3 WHERE id = 'x'")
        }
        #expect(try ledger.clips().map(\.id) == ["y"])
    }

    @Test func `A catalogue made by a version of relay without clips gets a table for clips`() throws {
        try DatabaseQueue(path: database).write {
            try $0.execute(sql: "DROP TABLE clips")
            try $0.execute(sql: "DELETE FROM grdb_migrations WHERE identifier IN ('3: clips', '5: seals of clips')")
        }
        #expect(try ledger.clips() == [])
        _ = try ledger.note([clip("x", 60, 70)], removing: [])
        #expect(try ledger.clips().map(\.id) == ["x"])
    }
}

/// Counts the files that were read.
private final class Reads: Sendable {
    let count = Mutex(0)
}
