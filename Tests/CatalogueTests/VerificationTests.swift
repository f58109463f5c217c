// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import MP4

@Suite struct VerificationTests {
    private func verify(_ directory: TemporaryDirectory) throws -> VerificationReport {
        try RecordingArchive(directory.path).verify(.init())
    }

    /// Changes bytes of a file by `body`, which must not change the file's size.
    private func damage(_ directory: TemporaryDirectory, _ name: String, _ body: (inout [UInt8]) throws -> Void) throws
    {
        var bytes = try directory.bytes(name)
        try body(&bytes)
        try directory.write(bytes, to: name)
    }

    @Test func `A complete recording verifies as complete`() throws {
        let directory = try Recording.make()
        let report = try verify(directory)
        #expect(report.isGood, "\(report.lines)")
        #expect(report.sentence == "5 segments, 0:00:09, no frame missing")
        #expect(report.frames == 225)
    }

    @Test func `An open file that was just created and is not locked yet is not reported as left by a crash`() throws {
        let directory = try Recording.make()
        let name = "relay_20261121T140310.250Z_000099.mp4.part"
        try directory.write([UInt8](), to: name)
        // A time in the future counts as recent, however long the test takes.
        try date(directory.path(name), Date(timeIntervalSinceNow: 60))
        let report = try verify(directory)
        #expect(report.isGood, "\(report.lines)")
        #expect(report.sentence == "5 segments, 0:00:09, no frame missing")
        try date(directory.path(name), Date(timeIntervalSinceNow: -10))
        #expect(try verify(directory).problems.contains { "\($0)".contains("left open by a crash") })
    }

    private func date(_ path: String, _ date: Date) throws {
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }

    @Test func `A gap is reported with its missing frames and audio, and the cause that the recorder noted`() throws {
        let directory = try Recording.make(hasGap: true)
        let report = try verify(directory)
        let ledger = try RecordingArchive(directory.path).onDisk()
        let (segments, gaps) = (ledger.segments, ledger.gaps)
        let gap = try #require(gaps.first)
        #expect(report.problems.isEmpty, "\(report.lines)")
        let missing = try #require(report.missing.first)
        #expect(report.missing.count == 1 && missing.cause == "no room" && missing.frames == gap.frames)
        // The files and the gap together contain all audio, except for a last packet that would end after the program.
        let audio = segments.reduce(0) { $0 + $1.audioSamples } + (missing.audioSamples ?? 0)
        #expect((0..<1024).contains(225 * 1920 - audio))
        #expect(report.sentence.hasSuffix("\(gap.frames ?? 0) frames missing"))
    }

    @Test(arguments: [RecordFormat.hybrid, .ts])
    func `A gap in an audio-only recording is measured in samples, not frames`(format: RecordFormat) throws {
        let directory = try Recording.make(hasGap: true, format: format, hasVideo: false)
        let report = try verify(directory)
        #expect(report.problems.isEmpty, "\(report.lines)")
        #expect(report.missing.map(\.frames) == [0] && report.missing.first?.cause == "no room", "\(report.lines)")
        let gaps = try RecordingArchive(directory.path).onDisk().gaps
        #expect(gaps.map(\.frames) == [0])
        let length = try #require(gaps.first.flatMap { gap in gap.to.map { $0 - gap.from } })
        #expect((Duration.seconds(1)..<Duration.milliseconds(1100)).contains(length))
        let samples = try #require(report.missing.first?.audioSamples)
        #expect(abs(samples - length.inNanoseconds * 48 / 1_000_000) < 10, "\(report.lines)")
    }

    @Test func `An audio-only file whose last packet is shorter than the others verifies as complete`() throws {
        let directory = try TemporaryDirectory()
        let recording = try Recording(in: directory, hasVideo: false)
        var packets = Recording.program(100).filter { $0.track == .audio && (0..<95 * 1024).contains($0.pts) }
        packets[94] = EncodedPacket(
            of: packets[94].description, pts: packets[94].pts, dts: packets[94].dts, duration: 336, isKeyframe: true,
            payload: packets[94].payload)
        recording.feed(packets)
        recording.finish()
        let report = try verify(directory)
        #expect(report.isGood && report.segments == 2, "\(report.lines)")
    }

    @Test func `A missing file of an audio-only recording is reported as a gap`() throws {
        let directory = try Recording.make(hasVideo: false)
        #expect(try verify(directory).isGood)
        try FileManager.default.removeItem(atPath: directory.path(directory.files[2]))
        let report = try verify(directory)
        #expect(report.missing.map(\.frames) == [0])
        #expect((95_000..<97_100).contains(report.missing.first?.audioSamples ?? 0), "\(report.lines)")
    }

    @Test func `A missing file is reported as a gap, with the file's name from the catalogue`() throws {
        let directory = try Recording.make()
        let gone = directory.files[2]
        try FileManager.default.removeItem(atPath: directory.path(gone))
        let report = try verify(directory)
        #expect(report.problems.map(\.file) == [gone])
        #expect(report.missing.map(\.frames) == [50])
        #expect(report.missing.first?.cause == "a file is missing or damaged")
    }

    @Test func `A truncated file is reported as damaged, and repair makes a copy without changing the file`() throws {
        let directory = try Recording.make()
        let name = directory.files[1]
        let whole = try directory.bytes(name)
        // The index and a part of the last fragment are gone.
        let size = whole[40..<48].reduce(0) { $0 << 8 | Int($1) }
        let cut = Array(whole.prefix(32 + size - 200))
        try directory.write(cut, to: name)
        let report = try verify(directory)
        #expect(report.problems.contains { $0.file == name && $0.text.hasPrefix("it is damaged") }, "\(report.lines)")

        let archive = try RecordingArchive(directory.path)
        let repairs = try archive.repair()
        #expect(repairs.map(\.file) == [name] && repairs.allSatisfy(\.isRepaired))
        #expect(try directory.bytes(name) == cut)
        let copy = SegmentSalvage.repairedName(name)
        #expect(directory.files.contains(copy))
        let facts = try SegmentReader.read(directory.path(copy))
        #expect(facts.problems.isEmpty && (25..<50).contains(facts.frames))
        // Only the part that could not be saved is still missing.
        let after = try archive.verify(.init())
        #expect(after.missing.map(\.frames) == [50 - facts.frames], "\(after.lines)")
        #expect(try archive.repair().isEmpty)
    }

    @Test func `If bytes of a recording were changed, verify finds this only if it compares checksums`() throws {
        let directory = try Recording.make()
        let archive = try RecordingArchive(directory.path)
        let catalogue = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        catalogue.start()
        try eventually { try archive.onDisk().segments.allSatisfy { $0.sha256 != nil } }
        let name = directory.files[1]
        try damage(directory, name) { bytes in
            let place = try #require(bytes.indices.last { bytes[$0] == 60 })
            bytes[place] = 61
        }
        #expect(try archive.verify(.init()).problems.map(\.file) == [name])
        #expect(try archive.verify(.init(checksums: false)).isGood)
    }

    @Test func `Files that relay did not record are not changed and do not affect the result of verify`() throws {
        let directory = try Recording.make()
        try directory.write([UInt8]("no MP4".utf8), to: "notes.mp4")
        try directory.write([UInt8](), to: "empty.mp4")
        let report = try verify(directory)
        #expect(report.isGood && Set(report.notes.compactMap(\.file)).isSuperset(of: ["notes.mp4", "empty.mp4"]))
        let archive = try RecordingArchive(directory.path)
        #expect(try archive.repair().isEmpty)
        #expect(try directory.bytes("notes.mp4") == [UInt8]("no MP4".utf8))
        // An empty file, as a loss of power can leave one, counts as a recording if it has the name of one.
        let lost = "test_20261121T140310.123Z_000099.mp4"
        try directory.write([UInt8](), to: lost)
        #expect(try verify(directory).problems.map(\.file) == [lost])
    }

    @Test func `Repair completes a file that a crash left open, and a gap of unknown length follows the file`() throws {
        let directory = try Recording.make()
        let name = try #require(directory.files.last)
        let closed = try directory.bytes(name)
        let size = closed[40..<48].reduce(0) { $0 << 8 | Int($1) }
        try FileManager.default.removeItem(atPath: directory.path(name))
        try directory.write(MovieBox.openHead + closed[48..<32 + size], to: name + ".part")
        let archive = try RecordingArchive(directory.path)
        #expect(try archive.verify(.init()).problems.contains { $0.file == name + ".part" })
        #expect(try archive.repair().map(\.isRepaired) == [true])
        #expect(directory.files.last == name)
        _ = try archive.rebuild()
        let report = try archive.verify(.init())
        #expect(report.problems.isEmpty, "\(report.lines)")
        #expect(report.missing.count == 1 && report.missing[0].to == nil && report.missing[0].frames == nil)
        let gap = try #require(archive.onDisk().gaps.first)
        #expect(gap.to == nil && gap.cause.contains("killed"))
    }

    @Test func `While a recorder runs, verify reports no missing frames and no crash for the open file`() throws {
        let directory = try TemporaryDirectory()
        let recording = try Recording(in: directory)
        recording.feed(Recording.program(160))
        try eventually { try RecordingArchive(directory.path).onDisk().segments.count == 3 }
        let archive = try RecordingArchive(directory.path)
        let report = try archive.verify(.init())
        #expect(report.isGood && report.segments == 3, "\(report.lines)")
        #expect(try archive.contents().gaps.isEmpty)
        recording.finish()
        #expect(try archive.verify(.init()).sentence == "4 segments, 0:00:06, no frame missing")
    }

    /// Verifies a recording of four closed files and an open one. While the files are read, the files with these
    /// `numbers` are deleted, each when the next file is read. The catalogue records these deletions only after verify
    /// has read the catalogue. Returns the report, and the names of the deleted files.
    private func verify(whileDeleting numbers: [Int]) throws -> (report: VerificationReport, deleted: [String]) {
        let directory = try TemporaryDirectory()
        let recording = try Recording(in: directory)
        recording.feed(Recording.program(225))
        try eventually { try RecordingArchive(directory.path).onDisk().segments.count == 4 }
        let (names, catalogue) = (directory.files, recording.catalogue)
        let deleted = numbers.map { names[$0] }
        var archive = try RecordingArchive(directory.path) { progress in
            guard progress.step == "reading", numbers.indices.contains(Int(progress.done)) else { return }
            try? FileManager.default.removeItem(atPath: directory.path(deleted[Int(progress.done)]))
        }
        archive.waitForCatalogue = {
            for name in deleted { catalogue.segmentDeleted(fileName: name) }
            try? eventually("the catalogue knows the deletions") {
                let present = try RecordingArchive(directory.path).onDisk().segments.map(\.name)
                return Set(present).isDisjoint(with: deleted)
            }
        }
        let report = try archive.verify(.init())
        recording.finish()
        return (report, deleted)
    }

    @Test func `Files that retention deletes during verify are reported neither as problems nor as gaps`() throws {
        // The first file is deleted, and one between other files.
        let (report, deleted) = try verify(whileDeleting: [0, 2])
        #expect(report.isGood && report.segments == 2, "\(report.lines)")
        #expect(report.notes.filter { $0.text == "it was deleted meanwhile" }.map(\.file) == deleted)
    }

    @Test
    func `Adjacent files that retention deletes during verify are reported neither as problems nor as gaps`() throws {
        // The two deleted files share one row of the catalogue.
        let (report, deleted) = try verify(whileDeleting: [1, 2])
        #expect(report.isGood && report.segments == 2, "\(report.lines)")
        #expect(report.notes.filter { $0.text == "it was deleted meanwhile" }.map(\.file) == deleted)
    }

    @Test
    func `Verify reports no problem and no gap for deleted files after a held one, even after a rebuild`() throws {
        let directory = try Recording.make()
        let names = directory.files
        let store = try CatalogueStore(directory: directory.path)
        for number in [2, 1, 3] {
            try FileManager.default.removeItem(atPath: directory.path(names[number]))
            try store.noteDeletion(of: names[number], at: .now)
        }
        let archive = try RecordingArchive(directory.path)
        #expect(try archive.onDisk().deleted.map(\.name) == [names[1]])
        for _ in 0..<2 {
            let report = try archive.verify(.init())
            #expect(report.isGood && report.segments == 2, "\(report.lines)")
            #expect(try archive.rebuild().segments == 2)
        }
    }

    @Test func `A run whose last file is missing counts as having ended abnormally`() throws {
        let directory = try Recording.make()
        let last = try #require(directory.files.last)
        try FileManager.default.removeItem(atPath: directory.path(last))
        let archive = try RecordingArchive(directory.path)
        _ = try archive.rebuild()
        let report = try archive.verify(.init())
        #expect(report.problems.isEmpty && report.missing.count == 1 && report.missing[0].frames == nil)
        let gap = try #require(archive.onDisk().gaps.first)
        #expect(try gap.from == archive.onDisk().segments.last?.programEnd && gap.cause.contains("killed"))
    }

    @Test func `An unusable record directory is reported in one sentence`() throws {
        let directory = try TemporaryDirectory()
        try directory.write([1], to: "file")
        for (path, text) in [
            (directory.path, "There are no recordings in"), (directory.path("file"), "is not a directory"),
            (directory.path("nowhere"), "There is no"),
        ] {
            do {
                _ = try RecordingArchive(path)
                Issue.record("\(path) was taken")
            } catch {
                #expect("\(error)".contains(text), "\(error)")
            }
        }
    }
}
