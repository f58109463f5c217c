// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

@Suite("The ledger of uploads")
struct UploadLedgerTests {
    private let store: CatalogueStore
    private static let sum = String(repeating: "ab", count: 32)
    /// When the files began, in milliseconds since 1970.
    private static let start: Int64 = 1_795_269_790_123

    init() throws { store = try CatalogueStore() }

    private func entry(_ name: String, at time: Int64, channel: String = "test", sha256: String? = nil) -> UploadEntry {
        UploadEntry(
            channel: channel, name: name, bytes: 1000, sha256: sha256, place: "archive:bucket/\(name)", time: time)
    }

    private func file(_ name: String, from start: Int64 = start) -> CatalogueSegment {
        CatalogueSegment(
            record: SegmentRecord(
                fileName: name, channel: "test", sequence: 1, start: UTCTime(milliseconds: start),
                programStart: 0, programEnd: 2_000_000_000, frames: 50, audioSamples: 96_000, bytes: 1000,
                ending: .rotate, run: "run"))
    }

    private func newest(
        _ limit: Int = 100, in range: Range<Int64> = 0..<Int64.max, channel: String = "test"
    ) throws -> [UploadEntry] {
        try store.read { try CatalogueStore.newestUploads(of: channel, in: range, limit: limit, $0) }
    }

    @Test("A ledger entry has the checksum of its file, whether it is computed before or after the upload")
    func checksum() throws {
        try store.put([file("a.mp4"), file("b.mp4")], living: [])
        try store.setChecksum(Self.sum, of: "a.mp4", bytes: 1000)
        for (index, name) in ["a.mp4", "b.mp4"].enumerated() {
            try store.noteUploaded(entry(name, at: Self.start + Int64(index)))
            #expect(try store.upload(of: name) == .done)
        }
        #expect(try newest().map(\.sha256) == [nil, Self.sum])
        try store.setChecksum(Self.sum, of: "b.mp4", bytes: 1001)
        #expect(try newest().map(\.sha256) == [nil, Self.sum])
        try store.setChecksum(Self.sum, of: "b.mp4", bytes: 1000)
        #expect(try newest().map(\.sha256) == [Self.sum, Self.sum])
    }

    @Test("A file does not give its checksum to the upload of an earlier file that had its name and size")
    func reusedName() throws {
        try store.noteUploaded(entry("a.mp4", at: Self.start - 86_400_000))
        try store.put([file("a.mp4")], living: [])
        try store.noteUploaded(entry("a.mp4", at: Self.start + 1))
        try store.setChecksum(Self.sum, of: "a.mp4", bytes: 1000)
        #expect(try newest().map(\.sha256) == [Self.sum, nil])
    }

    @Test("An upload after the clock was set back gets the checksum of its file, and not that of an earlier one")
    func checksumAndClock() throws {
        let (hour, other) = (Int64(3_600_000), String(repeating: "cd", count: 32))
        // The clock is an hour ahead when the first file is recorded and uploaded, and is right from then on.
        let first = file("a.mp4", from: Self.start + hour)
        try store.put([first], living: [])
        try store.noteUploaded(UploadEntry(first, to: "a:1", at: UTCTime(milliseconds: Self.start)))
        try store.setChecksum(Self.sum, of: "a.mp4", bytes: 1000)
        #expect(try newest().map(\.sha256) == [Self.sum])
        // The checksum of this upload is never computed: another file gets the name first.
        let second = file("a.mp4", from: Self.start + 2 * hour)
        try store.put([second], living: [])
        try store.noteUploaded(UploadEntry(second, to: "a:2", at: UTCTime(milliseconds: Self.start + 3 * hour)))
        let third = file("a.mp4", from: Self.start + 1)
        try store.put([third], living: [])
        try store.setChecksum(other, of: "a.mp4", bytes: 1000)
        try store.noteUploaded(UploadEntry(second, to: "a:3", at: UTCTime(milliseconds: Self.start + 4 * hour)))
        try store.noteUploaded(UploadEntry(third, to: "a:4", at: UTCTime(milliseconds: Self.start)))
        let found = Dictionary(uniqueKeysWithValues: try newest().map { ($0.place, $0.sha256) })
        #expect(found == ["a:1": Self.sum, "a:2": nil, "a:3": nil, "a:4": other])
    }

    @Test("A checksum that is computed when the row of the file is gone is stored in the ledger")
    func removedRow() throws {
        try store.noteUploaded(entry("a.mp4", at: 5))
        try store.setChecksum(Self.sum, of: "a.mp4", bytes: 1000)
        #expect(try newest().map(\.sha256) == [Self.sum])
    }

    @Test("Only the upload of a stream itself gets its checksum, even if only the end of the stream is known")
    func unknownStart() throws {
        let (first, end) = (file("a.ts"), Self.start + 2000)
        for (place, start, time) in [
            // These files of the same name and size were uploaded before this one ended, or began after that.
            ("a:1", Self.start - 86_400_000, end - 1), ("a:2", end + 1, end + 2), ("a:3", first.start, end + 3),
        ] {
            try store.noteUploaded(
                UploadEntry(file("a.ts", from: start), to: place, at: UTCTime(milliseconds: time)))
        }
        let stored = StoredSegment(
            fileName: "a.ts", sequence: 1, bytes: 1000, ended: UTCTime(milliseconds: end), isFinished: true)
        try store.put([CatalogueSegment(file: stored, channel: "test", upload: .done)], living: [])
        try store.setChecksum(Self.sum, of: "a.ts", bytes: 1000)
        let found = Dictionary(uniqueKeysWithValues: try newest().map { ($0.place, $0.sha256) })
        #expect(found == ["a:1": nil, "a:2": nil, "a:3": Self.sum])
    }

    @Test("A ledger entry stays when its file is deleted, or when the file's row is removed")
    func deleted() throws {
        try store.put([file("a.mp4"), file("b.mp4")], living: [])
        for name in ["a.mp4", "b.mp4"] { try store.noteUploaded(entry(name, at: 5)) }
        try store.noteDeletion(of: "a.mp4", at: UTCTime(milliseconds: 7))
        try store.remove(["b.mp4"])
        #expect(try newest().map(\.name) == ["b.mp4", "a.mp4"])
    }

    @Test("A page of the upload ledger has a channel's newest uploads before a time, each with a different time")
    func pages() throws {
        for number in 0..<10 { try store.noteUploaded(entry("\(number).mp4", at: 100)) }
        try store.noteUploaded(entry("other.mp4", at: 100, channel: "other"))
        var found: [String] = []
        var page = try newest(3)
        while let last = page.last {
            #expect(page.count <= 3)
            found += page.map(\.name)
            page = try newest(3, in: 0..<last.time)
        }
        #expect(found == (0..<10).reversed().map { "\($0).mp4" })
        #expect(try newest(in: 102..<104).map(\.name) == ["3.mp4", "2.mp4"])
        #expect(try store.read { try CatalogueStore.uploadedChannels($0) } == ["other", "test"])
    }

    @Test("The ledger keeps the newest uploads of each channel, up to the limit of entries")
    func limit() throws {
        for number in 0..<5 {
            try store.noteUploaded(entry("\(number).mp4", at: Int64(number)), keeping: 3)
            try store.noteUploaded(entry("x.mp4", at: Int64(number), channel: "other"), keeping: 5)
        }
        #expect(try newest().map(\.name) == ["4.mp4", "3.mp4", "2.mp4"])
        #expect(try newest(channel: "other").count == 5)
    }

    @Test("A full ledger keeps what was added last after the clock was set back or ahead")
    func limitAndClock() throws {
        for (number, time) in [50, 60, 10, 11, 90].enumerated() {
            try store.noteUploaded(entry("\(number).mp4", at: Int64(time)), keeping: 3)
        }
        #expect(try newest().map(\.name) == ["4.mp4", "3.mp4", "2.mp4"])
        // If the limit becomes lower, several entries are removed at once.
        try store.noteUploaded(entry("5.mp4", at: 1), keeping: 2)
        #expect(try newest().map(\.name) == ["4.mp4", "5.mp4"])
    }

    @Test("A salvaged ledger keeps the order in which its entries were added, and so loses the first when it is full")
    func salvagedOrder() throws {
        let directory = try TemporaryDirectory()
        let target = try RecordDirectory.prepare(directory.path)
        let old = try CatalogueStore(directory: directory.path)
        for (number, time) in [50, 60, 10].enumerated() {
            try old.noteUploaded(entry("\(number).mp4", at: Int64(time)))
        }
        _ = try CatalogueFiles.setAside(in: target)
        let new = try CatalogueStore(directory: directory.path)
        _ = try ClipRestoring.run(new, in: target)
        try new.noteUploaded(entry("3.mp4", at: 5), keeping: 3)
        let found = try new.read { try CatalogueStore.newestUploads(of: "test", in: 0..<99, limit: 9, $0) }
        #expect(found.map(\.name) == ["1.mp4", "2.mp4", "3.mp4"])
    }

    @Test("Uploads of one channel or of all are returned in the order of time, even if no recording is left")
    func readers() throws {
        let directory = try TemporaryDirectory()
        let target = try RecordDirectory.prepare(directory.path)
        let ledger = ChannelLedger(directory: target, channel: "test")
        #expect(try ledger.uploads(0..<Int64.max, limit: 10) == [])
        #expect(try RecordingArchive(directory.path, needsFiles: false).uploads(0..<Int64.max, limit: 10) == [])
        let store = try CatalogueStore(directory: directory.path)
        for number in 0..<4 {
            try store.noteUploaded(entry("\(number).mp4", at: Int64(number), channel: number == 2 ? "other" : "test"))
        }
        #expect(try ledger.uploads(0..<Int64.max, limit: 2).map(\.name) == ["1.mp4", "3.mp4"])
        let archive = try RecordingArchive(directory.path, needsFiles: false)
        #expect(try archive.uploads(0..<Int64.max, limit: 3).map(\.name) == ["1.mp4", "2.mp4", "3.mp4"])
        #expect(throws: ArchiveFailure.self) { try RecordingArchive(directory.path) }
    }

    @Test("The readable uploads of a damaged catalogue are copied to the new one, and none is lost or doubled")
    func damaged() throws {
        let directory = try TemporaryDirectory()
        let target = try RecordDirectory.prepare(directory.path)
        let old = try CatalogueStore(directory: directory.path)
        try old.noteUploaded(entry("a.mp4", at: 1, sha256: Self.sum))
        try old.noteUploaded(entry("b.mp4", at: 2))
        _ = try CatalogueFiles.setAside(in: target)
        let new = try CatalogueStore(directory: directory.path)
        try new.noteUploaded(entry("c.mp4", at: 3))
        try new.restore([entry("b.mp4", at: 2)])
        _ = try ClipRestoring.run(new, in: target)
        let found = try new.read { try CatalogueStore.newestUploads(of: "test", in: 0..<9, limit: 9, $0) }
        #expect(found.map(\.name) == ["c.mp4", "b.mp4", "a.mp4"] && found.last?.sha256 == Self.sum)
    }

    @Test("An upload from a disk that was unmounted is not written to the catalogue of the disk that replaced it")
    func swappedDisk() throws {
        let temporary = try TemporaryDirectory()
        let place = temporary.path("place")
        func mount(_ name: String) throws {
            try FileManager.default.createDirectory(atPath: temporary.path(name), withIntermediateDirectories: true)
            unlink(place)
            try #require(symlink(temporary.path(name), place) == 0)
        }
        try mount("second")
        _ = try RecordDirectory.prepare(place)
        try CatalogueStore(directory: place).put([file("a.mp4")], living: [])
        try mount("first")
        let catalogue = Catalogue(directory: try RecordDirectory.prepare(place), channel: "test", logger: quiet)
        // A directory in its place keeps the first disk's database from being opened, so that the upload waits.
        let blocked = "\(place)/\(CatalogueStore.fileName)"
        try #require(mkdir(blocked, 0o755) == 0)
        catalogue.noteUploaded(file("a.mp4"), to: "archive:")
        catalogue.waitUntilIdle()
        try mount("second")
        catalogue.noteEvent(.input, "input 2 is on air")
        catalogue.waitUntilIdle()
        let second = try CatalogueStore(reading: temporary.path("second"))
        #expect(try second.events().map(\.text) == ["input 2 is on air"])
        #expect(try second.read { try CatalogueStore.uploadedChannels($0) } == [])
        #expect(try second.upload(of: "a.mp4") != .done)
    }
}
