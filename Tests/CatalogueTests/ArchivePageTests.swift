// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// How much commands read from a directory of recordings when they need only a part of it.
@Suite struct ArchivePageTests {
    @Test func `An export reads from disk only those existing files that have no row in the catalogue`() throws {
        let directory = try Recording.make()
        let rows = try RecordingArchive(directory.path).onDisk().segments
        try #require(rows.count == 5)
        var opened: Int64 = 0
        func names() throws -> [String] {
            opened = 0
            let archive = try RecordingArchive(directory.path) { opened = max(opened, $0.total) }
            return try archive.catalogued().segments.map(\.name)
        }
        let all = rows.map(\.name)
        var found = try names()
        #expect(found == all && opened == 0)
        // Two files are removed from the directory.
        for number in [1, 3] { try #require(unlink(directory.path(all[number])) == 0) }
        found = try names()
        #expect(found == [all[0], all[2], all[4]] && opened == 0)
        // A file without a row is read.
        try CatalogueStore(directory: directory.path).remove([all[4]])
        found = try names()
        #expect(found == [all[0], all[2], all[4]] && opened == 1)
    }

    @Test func `An export reads files without rows only if the files of the catalogue do not fill its range`() throws {
        let directory = try Recording.make()
        let rows = try RecordingArchive(directory.path).onDisk().segments
        try #require(rows.count == 5)
        // The last file has no row.
        try CatalogueStore(directory: directory.path).remove([rows[4].name])
        var opened: Int64 = 0
        func names(_ ranges: Range<Int64>..., channel: String? = nil) throws -> [String] {
            opened = 0
            let archive = try RecordingArchive(directory.path) { opened = max(opened, $0.total) }
            return try archive.catalogued(filling: ranges, of: channel).segments.map(\.name)
        }
        let all = rows.map(\.name)
        let (first, second, third, last) = (rows[0].start, rows[1].start, rows[2].start, rows[4].start)
        for channel in ["test", nil] {
            #expect(try names(second + 500..<third + 500, channel: channel) == [all[1], all[2]])
            #expect(try names(first..<first + 500, third + 500..<third + 900, channel: channel) == [all[0], all[2]])
            #expect(opened == 0)
        }
        // The media after the known files, and before them, can be in another file.
        for range in [third..<last + 500, first - 1000..<first + 500] {
            #expect(try names(range) == all)
            #expect(opened == 1)
        }
        #expect(try names(first..<first + 500, channel: "other") == all)
        // A removed file leaves a hole.
        try #require(unlink(directory.path(all[1])) == 0)
        #expect(try names(first..<third + 500) == [all[0], all[2], all[3], all[4]])
        // If a file has a repaired copy, only the complete list decides which of the two counts.
        try directory.write([0], to: SegmentSalvage.repairedName(all[2]))
        #expect(try names(third + 500..<third + 900).contains(all[4]))
        #expect(opened == 2)
    }

    @Test func `An archive without files is refused although its catalogue still has their rows`() throws {
        let directory = try Recording.make()
        for name in directory.files { try #require(unlink(directory.path(name)) == 0) }
        #expect(throws: ArchiveFailure.self) { try RecordingArchive(directory.path) }
    }

    @Test func `A page of an archive includes the events of a channel that has no files`() throws {
        let directory = try Recording.make()
        let event = CatalogueEvent(channel: "other", at: UTCTime(milliseconds: 1000), kind: "marker", text: "goal")
        try CatalogueStore(directory: directory.path).put(event)
        let page = try RecordingArchive(directory.path).page(0..<Int64.max, limit: .max)
        #expect(page.events.contains { $0.channel == "other" && $0.text == "goal" })
    }

    @Test func `A page of an archive has the newest files and gaps of all channels in its directory`() throws {
        let directory = try TemporaryDirectory()
        for channel in ["one", "two"] {
            let recording = try Recording(in: directory, channel: channel)
            recording.record(225, hasGap: true)
            recording.finish()
        }
        let archive = try RecordingArchive(directory.path)
        let all = try archive.contents()
        let byTime = all.segments.sorted { ($0.start, $0.name) < ($1.start, $1.name) }
        #expect(Set(all.segments.map(\.channel)) == ["one", "two"] && all.gaps.count == 2)
        try #require(byTime.count >= 6)
        let whole = try archive.page(0..<Int64.max, limit: .max)
        #expect(whole.segments == byTime && whole.gaps.count == 2)
        for limit in [1, 3, byTime.count] {
            let page = try archive.page(0..<Int64.max, limit: limit)
            #expect(page.segments == Array(byTime.suffix(limit)) && page.gaps.count == min(2, limit))
        }
        // A file is listed if it ends within the range, and not if it begins at the end of the range.
        let first = byTime[0]
        let end = first.start + first.duration / 1_000_000
        #expect(try archive.page(end - 1..<end, limit: .max).segments.contains(first))
        #expect(try !archive.page(end + 1..<end + 2, limit: .max).segments.contains(first))
        #expect(try archive.page(0..<first.start, limit: .max).segments.isEmpty)
        // A file that someone removed is not listed. Without a catalogue, the page is made from the files.
        try #require(unlink(directory.path(first.name)) == 0)
        #expect(try archive.page(0..<Int64.max, limit: .max).segments == Array(byTime.dropFirst()))
        // Removed files do not count towards the limit either.
        for file in byTime.suffix(3) { try #require(unlink(directory.path(file.name)) == 0) }
        let left = Array(byTime.dropFirst().dropLast(3))
        #expect(try archive.page(0..<Int64.max, limit: 2).segments == Array(left.suffix(2)))
        try #require(unlink(directory.path(".relay.sqlite")) == 0)
        let names = try archive.page(0..<Int64.max, limit: .max).segments.map(\.name)
        #expect(names == left.map(\.name))
    }

    /// Adds a run of files of two seconds to `store`. The run begins `date` milliseconds after the epoch. Every
    /// `sceneFiles` files a scene begins; the date of the scene of file 25 is wrong by `clockStep`.
    private func record(
        _ run: String, from date: Int64 = 0, files: Int, sceneFiles: Int, clockStep: Int64 = 0,
        in directory: TemporaryDirectory, _ store: CatalogueStore
    ) throws {
        for number in 0..<files {
            let start = ProgramInstant.zero + .seconds(2 * number)
            let time = Self.epoch + date + start.milliseconds
            let name = "test_\(run)\(number).mp4"
            try directory.write([0], to: name)
            let record = SegmentRecord(
                fileName: name, channel: "test", sequence: number, start: UTCTime(milliseconds: time),
                programStart: start, programEnd: start + .seconds(2), frames: 50, audioSamples: 96_000, bytes: 1,
                ending: .rotate, run: run)
            try store.put([CatalogueSegment(record: record)], living: [run])
            guard number.isMultiple(of: sceneFiles) else { continue }
            let scene = SceneEvent(
                name: nil, layout: "single", sources: ["cam\(number / sceneFiles)"], frame: Int64(50 * number),
                run: run, transition: "cut")
            let step = number == 25 ? clockStep : 0
            try store.put(CatalogueEvent(channel: "test", at: UTCTime(milliseconds: time + step), scene: scene))
        }
    }

    /// Returns the catalogue of a program of one minute in files of two seconds, with a scene every ten seconds.
    private func show(in directory: TemporaryDirectory, clockStep: Int64 = 0) throws -> CatalogueStore {
        let store = try CatalogueStore(directory: directory.path)
        try record("r", files: 30, sceneFiles: 5, clockStep: clockStep, in: directory, store)
        return store
    }

    private static let epoch: Int64 = 1_795_269_790_000

    @Test func `The scenes of a time are read from a part of the catalogue, unless its files leave a gap`() throws {
        let directory = try TemporaryDirectory()
        let store = try show(in: directory)
        let archive = try RecordingArchive(directory.path)
        let limits = Self.epoch + 25_000..<Self.epoch + 35_000
        let found = try #require(archive.scenes(in: limits, of: "test"))
        #expect(found.segments.count == 30 && found.events.compactMap { $0.scene?.sources.first }.contains("cam3"))
        #expect(archive.scenes(in: limits, of: nil) != nil)
        #expect(archive.scenes(in: limits, of: "other") == nil)
        #expect(archive.scenes(in: Self.epoch - 5000..<Self.epoch + 5000, of: "test") == nil, "a file can be missing")
        try store.remove(["test_r14.mp4"])
        #expect(archive.scenes(in: limits, of: "test") == nil, "the file can be there without a row")
    }

    @Test(arguments: [-40_000, 40_000, 3_600_000] as [Int64])
    func `The whole catalogue is read for the scenes of a time if the clock was set then`(step: Int64) throws {
        let directory = try TemporaryDirectory()
        _ = try show(in: directory, clockStep: step)
        let archive = try RecordingArchive(directory.path)
        #expect(archive.scenes(in: Self.epoch + 45_000..<Self.epoch + 55_000, of: "test") == nil)
    }

    /// The first run lasts 200 s. The second one was recorded after it, and lasts 180 s.
    @Test(arguments: [(-60, 90..<95, false), (164, 190..<205, false), (195, 190..<205, true), (200, 190..<205, true)])
    func `The whole catalogue is read for the scenes of a time if the clock was set back between two runs`(
        start: Int64, seconds: Range<Int64>, isPart: Bool
    ) throws {
        let directory = try TemporaryDirectory()
        let store = try CatalogueStore(directory: directory.path)
        try record("r", files: 100, sceneFiles: 20, in: directory, store)
        // The only scene of the second run begins with the run.
        try record("s", from: 1000 * start, files: 90, sceneFiles: 90, in: directory, store)
        let limits = Self.epoch + 1000 * seconds.lowerBound..<Self.epoch + 1000 * seconds.upperBound
        let found = try RecordingArchive(directory.path).scenes(in: limits, of: "test")
        #expect((found != nil) == isPart)
        if let found { #expect(Set(found.events.compactMap { $0.scene?.run }) == ["r", "s"]) }
    }
}
