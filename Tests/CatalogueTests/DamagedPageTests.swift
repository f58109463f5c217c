// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import GRDB
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// A catalogue of many pages. A disk damages one of its pages.
@Suite struct DamagedPageTests {
    private static let pageSize = 4096
    /// The name of the clip that protects the second file.
    private static let holding = "goal"
    private let original: TemporaryDirectory
    private let names: [String]
    private let clips: [CatalogueClip]

    /// Makes five files. A clip protects the second file, and the fourth file waits for its upload.
    init() throws {
        original = try Recording.make()
        names = original.files
        let target = try RecordDirectory.prepare(original.path)
        try original.write([], to: Catalogue.uploadLockName(of: "test"))
        let ledger = ChannelLedger(directory: target, channel: "test")
        let run = try #require(try ledger.kept().first?.run)
        clips = (0..<90).map { number in
            let (id, first) = number == 47 ? (Self.holding, 60) : ("clip\(number)", Int64(number))
            return CatalogueClip(
                .init(
                    id: id, run: number == 47 ? run : "gone\(number)", first: first, end: first + 10, isComplete: true),
                channel: "test", rate: Recording.rate, start: 1_700_000_000_000 + Int64(number), name: "Clip \(number)")
        }
        _ = try ledger.note(clips, removing: [])
        let store = try CatalogueStore(directory: original.path)
        try store.setUploads([names[0]: .done, names[1]: .done, names[2]: .done, names[3]: .waiting, names[4]: .done])
        for number in 0..<60 {
            let time = UTCTime(milliseconds: 1_700_000_000_000 + Int64(number))
            try store.put(CatalogueEvent(channel: "test", at: time, kind: "input", text: "input \(number)"))
        }
    }

    /// Runs the steps of relay: retention sweeps, then the catalogue is opened, then retention sweeps again.
    private func run(in directory: TemporaryDirectory) throws -> RetentionStatus {
        let target = try RecordDirectory.prepare(directory.path)
        let catalogue = Catalogue(directory: target, channel: "test", logger: quiet)
        let clock = ManualClock()
        let wallClock = { @Sendable in UTCTime(milliseconds: UTCTime.now.milliseconds + 36_000_000) }
        // An earlier run read the clock just now.
        try RememberedClock(lastSeen: wallClock(), isConfirmed: true).write(of: "test", in: target)
        let retention = Retention(
            directory: target, channel: "test", rules: .init(maximumAge: .seconds(3600), minimumAge: .zero),
            leastFree: 0,
            vetoes: [HoldVeto(target), ClipHold(directory: target, channel: "test"), catalogue], clock: clock,
            wallClock: wallClock, logger: quiet)
        retention.check()
        catalogue.start()
        catalogue.waitUntilIdle()
        clock.advance(by: .seconds(61))
        retention.check()
        let ended = DispatchSemaphore(value: 0)
        catalogue.finish { ended.signal() }
        ended.wait()
        return retention.status
    }

    /// Returns a copy of the directory with `database` in place of the catalogue.
    private func copy(_ database: [UInt8]) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        for name in original.all where name != ".relay.sqlite" {
            try FileManager.default.copyItem(atPath: original.path(name), toPath: directory.path(name))
        }
        try directory.write(database, to: ".relay.sqlite")
        return directory
    }

    /// Returns the clips that SQLite reads from the table up to the damage, if these clips are unchanged.
    private func readable(in directory: TemporaryDirectory) -> [CatalogueClip] {
        var configuration = Configuration()
        configuration.readonly = true
        guard let queue = try? DatabaseQueue(path: directory.path(".relay.sqlite"), configuration: configuration) else {
            return []
        }
        return
            (try? queue.read { database in
                var found: [CatalogueClip] = []
                let cursor = try Row.fetchCursor(database, sql: "SELECT * FROM clips NOT INDEXED")
                while let row = try? cursor.next() { CatalogueClip(validating: row).map { found.append($0) } }
                return found.filter(clips.contains)
            }) ?? []
    }

    private func names(in directory: TemporaryDirectory) -> [String] { names.filter(directory.files.contains) }

    @Test func `With an intact catalogue, retention deletes all files that no clip or upload keeps`() throws {
        let directory = try copy(try original.bytes(".relay.sqlite"))
        let status = try run(in: directory)
        #expect(names(in: directory) == [names[1], names[3]])
        #expect(status.problem == nil && !directory.all.contains(ClipMark.unknown))
    }

    // Regression: the clips of a damaged catalogue were not copied to the new one. A second later, the files that these
    // clips protected were deleted.
    @Test
    func `Whichever database page is damaged, files of clips are kept and readable clips stay in the catalogue`() throws
    {
        var random = SeededRandom()
        let bytes = try original.bytes(".relay.sqlite")
        let pages = bytes.count / Self.pageSize
        #expect(pages >= 12)
        for page in 0..<pages {
            for isZeroed in [true, false] {
                var damaged = bytes
                let range = page * Self.pageSize..<(page + 1) * Self.pageSize
                if isZeroed {
                    damaged.replaceSubrange(range, with: [UInt8](repeating: 0, count: Self.pageSize))
                } else {
                    for _ in 0..<Int.random(in: 1...8, using: &random) {
                        damaged[Int.random(in: range, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
                    }
                }
                let directory = try copy(damaged)
                let readable = readable(in: directory)
                let context = "page \(page) of \(pages), \(isZeroed ? "zeroed" : "flipped")"
                for start in 1...2 {
                    let status = try run(in: directory)
                    let left = names(in: directory)
                    #expect(left.contains(names[1]), "start \(start), \(context)")
                    // A few flipped bytes can also turn a row into another valid one.
                    if isZeroed { #expect(left.contains(names[3]), "start \(start), \(context)") }
                    if directory.all.contains(ClipMark.unknown) {
                        #expect(status.problem?.contains(ClipMark.unknown) == true, "\(context)")
                    }
                }
                let ledger = ChannelLedger(directory: try .prepare(directory.path), channel: "test")
                let noted = (try? ledger.clips()) ?? []
                // A catalogue that SQLite cannot use, although no page of it looks damaged, is left unchanged.
                if directory.all.contains(".relay.sqlite.broken-1") || !noted.isEmpty {
                    #expect(readable.allSatisfy(noted.contains), "\(context)")
                }
            }
        }
    }

    @Test func `After clips are lost, older recordings are not deleted until an operator removes the mark of the loss`()
        throws
    {
        var bytes = try original.bytes(".relay.sqlite")
        // Without its first bytes, the file is no longer a database.
        bytes.replaceSubrange(0..<100, with: [UInt8](repeating: 0, count: 100))
        let directory = try copy(bytes)
        let status = try run(in: directory)
        #expect(names(in: directory) == names)
        #expect(status.problem?.contains(ClipMark.unknown) == true && status.heldFiles == 5)
        try FileManager.default.removeItem(atPath: directory.path(ClipMark.unknown))
        // All files still wait for their upload. The test removes these upload states.
        try FileManager.default.removeItem(atPath: directory.path(Catalogue.uploadLockName(of: "test")))
        try DatabaseQueue(path: directory.path(".relay.sqlite")).write {
            try $0.execute(sql: "UPDATE segments SET upload = NULL")
        }
        #expect(try run(in: directory).problem == nil && names(in: directory).isEmpty)
    }

    @Test func `After a damaged catalogue has lost clips, retention still deletes newer files as usual`() throws {
        let directory = try copy(try original.bytes(".relay.sqlite"))
        try ClipMark.setUnknown(in: directory.path)
        let path = directory.path(ClipMark.unknown)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -2 * 3600)], ofItemAtPath: path)
        #expect(try run(in: directory).problem != nil)
        #expect(names(in: directory) == [names[1], names[3]])
    }

    // If the process is killed before the clips are in the new catalogue, the mark remains.
    @Test func `Clips of a damaged catalogue that was set aside are restored at the next start`() throws {
        let directory = try copy(try original.bytes(".relay.sqlite"))
        let target = try RecordDirectory.prepare(directory.path)
        #expect(try CatalogueFiles.setAside(in: target) == ".relay.sqlite.broken-1")
        let hold = ClipHold(directory: target, channel: "test")
        #expect(names.allSatisfy { !hold.mayDelete($0) })
        let status = try run(in: directory)
        #expect(try ChannelLedger(directory: target, channel: "test").clips() == clips)
        #expect(status.problem == nil && names(in: directory).contains(names[1]))
        #expect(try ClipMark.databases(in: directory.path).isEmpty && ClipMark.time(in: directory.path) == nil)
    }

    @Test func `relay recordings rebuild keeps the readable clips of a damaged catalogue`() throws {
        let directory = try copy(try original.bytes(".relay.sqlite"))
        try DatabaseQueue(path: directory.path(".relay.sqlite")).write { database in
            try database.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try database.execute(
                sql: "UPDATE segments SET upload = 'something else' WHERE name = ?", arguments: [names[0]])
        }
        let rebuilding = try RecordingArchive(directory.path).rebuild()
        #expect(
            rebuilding.setAside != nil && rebuilding.notes == ["90 clips of a damaged catalogue are in the new one"])
        let target = try RecordDirectory.prepare(directory.path)
        #expect(try ChannelLedger(directory: target, channel: "test").clips() == clips)
    }
}
