// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// A record directory with generated files of all kinds. For each file it is known whether it is a recording of the
/// channel `test`.
private struct Neighbourhood {
    static let templates = [
        "{channel}_{start}_{sequence}", "%Y-%m-%d/{channel}_{start}_{sequence}", "%Y/%m/{channel}_{time}_{sequence}",
        "{date}_{time}_{sequence}", "{date}/{time}_{sequence}", "day/{channel}_{sequence}",
    ]

    let directory: TemporaryDirectory
    let target: RecordDirectory
    let template: NameTemplate
    /// Closed files of the channel. The numbers of other files are 900000 or more.
    private(set) var own: Set<String> = []
    /// Open files of the channel, by their final names.
    private(set) var open: Set<String> = []
    private var nested: Set<String> = []
    private var random: SeededRandom
    private var number = 0

    init(_ random: SeededRandom) throws {
        self.random = random
        directory = try TemporaryDirectory()
        // A template from an earlier run, which the directory has stored.
        _ = try RecordDirectory.prepare(directory.path, template: NameTemplate(parsing: "rec {channel}/{sequence}"))
        template = try NameTemplate(parsing: try #require(Self.templates.randomElement(using: &self.random)))
        target = try RecordDirectory.prepare(directory.path, template: template)
        for _ in 0..<Int.random(in: 20...60, using: &self.random) { try add() }
    }

    private func name(_ template: NameTemplate, _ number: Int, channel: String = "test", ts: Bool = false) -> String {
        SegmentName(
            channel: channel, start: SampleRecording.start, sequence: number, template: template,
            format: ts ? .ts : .hybrid
        ).closed
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        let path = directory.path(name)
        guard access(path, F_OK) != 0 else { return }
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -5 * 3600)], ofItemAtPath: path)
    }

    private mutating func add() throws {
        number += 1
        let (usual, stranger) = (NameTemplate.standard, 900_000 + number)
        let (ours, others) = (SampleRecording(seconds: 1), SampleRecording(seconds: 1, channel: "other"))
        switch Int.random(in: 0..<19, using: &random) {
        // These are files of the channel, with every kind of name.
        case 0, 1: try own(ours.closed, name(template, number))
        case 2: try own(ours.closed, name(usual, number))
        case 3: try own(ours.closed, name(try NameTemplate(parsing: "rec {channel}/{sequence}"), number))
        case 4: try own(ours.closed, "2026-11-21/test-14-03-\(10 + number).mp4")
        case 5: try own(SampleRecording.streamHead(of: "test"), name(template, number, ts: true))
        case 6:
            let closed = name(template, number)
            guard !isNested(closed) else { return }
            try write(ours.open, closed + ".part")
            open.insert(closed)
        // Other record directories, with and without a mark. Some have paths that directories of the channel could
        // have.
        case 7: try nest("inner", mark: ".relay-archive-1")
        case 8: try nest("2026-11-20", mark: ".relay-archive-2")
        case 9: try nest("2026", mark: ".relay.sqlite")
        // Files that an operator keeps: copies, a renamed copy, a directory of another year, an exported clip.
        case 10: try write(ours.closed, "keep/\(name(usual, stranger))")
        case 11: try write(ours.closed, "interview \(number).mp4")
        case 12: try write(ours.closed, "2024/\(name(usual, stranger))")
        case 13:
            var clip = ours.closed
            clip.replaceSubrange(52..<56, with: Array("free".utf8))
            try write(clip, "2026-11-21/test_14-04-\(10 + number).mp4")
        // These files have names of the channel, but foreign content.
        case 14: try write([UInt8](repeating: 0x20, count: 900), name(template, stranger))
        case 15: try write([UInt8](repeating: 0x20, count: 900), name(template, stranger) + ".part")
        // Recordings of another channel in the same directory; if names lack the channel, both share the numbers.
        case 16: try write(others.closed, name(template, number, channel: "other"))
        case 17: try write(SampleRecording.streamHead(of: "other"), name(template, number, channel: "other", ts: true))
        default: try write(others.open, name(template, number, channel: "other") + ".part")
        }
    }

    private func isNested(_ name: String) -> Bool { nested.contains { name.hasPrefix("\($0)/") } }

    private mutating func own(_ bytes: [UInt8], _ name: String) throws {
        guard !isNested(name) else { return }
        try write(bytes, name)
        own.insert(name)
    }

    private mutating func nest(_ name: String, mark: String) throws {
        // A directory that already contains files of the channel cannot become another record directory.
        guard !own.union(open).contains(where: { $0.hasPrefix("\(name)/") }), access(directory.path(name), F_OK) != 0
        else { return }
        nested.insert(name)
        let bytes = SampleRecording(seconds: 1).closed
        for inner in [NameTemplate.standard, template] {
            for number in 0..<3 { try write(bytes, "\(name)/\(self.name(inner, 900_000 + number))") }
        }
        // This file has a name that a file of the channel could have.
        if template.depth > 0, let last = self.name(template, 900_003).split(separator: "/").last {
            try write(bytes, "\(name)/\(last)")
        }
        try write([], "\(name)/\(mark)")
    }

    /// Returns the content of all files by their paths, except for relay's own hidden files at the top.
    func files() throws -> [String: Data] {
        let all = FileManager.default.enumerator(atPath: directory.path)?.compactMap { $0 as? String } ?? []
        var files: [String: Data] = [:]
        for name in all where !name.hasPrefix(".") {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: directory.path(name), isDirectory: &isDirectory),
                !isDirectory.boolValue
            else { continue }
            files[name] = try Data(contentsOf: URL(fileURLWithPath: directory.path(name)))
        }
        return files
    }
}

@Suite struct OwnershipTests {
    // Regression: retention deleted 4 of 5 files that an operator kept in a subdirectory. It also deleted all files of
    // a nested record directory, although one of them was held.
    @Test
    func `A channel deletes, completes, uploads and counts its own files, and no other files`() async throws {
        var seeds = SeededRandom()
        for _ in 0..<12 {
            let seed = seeds.next()
            let place = try Neighbourhood(SeededRandom(seed: seed))
            let (target, own) = (place.target, place.own.union(place.open))
            let others = try place.files().filter { !place.own.contains($0.key) && !place.isOpen($0.key) }
            let context = "seed \(seed), template \(place.template.text)"

            #expect(try target.lastSequence(of: "test") < 900_000, "\(context)")
            let recovered = try SegmentRecovery.run(in: target, channel: "test").map(\.fileName)
            #expect(Set(recovered) == Set(place.open.map { $0 + ".part" }), "\(context)")

            let catalogue = Catalogue(directory: target, channel: "test", logger: quiet)
            catalogue.start()
            let handed = await waiting(in: catalogue)
            // A transport stream has too little metadata for a row.
            #expect(handed == own.filter { $0.hasSuffix(".mp4") }, "\(context)")
            let listed = try ChannelLedger(directory: target, channel: "test").kept().map(\.name)
            #expect(Set(listed) == handed, "\(context)")
            await withCheckedContinuation { ended in catalogue.finish { ended.resume() } }

            let clock = ManualClock()
            // Files that recovery has completed were written just now.
            let wallClock = { @Sendable in UTCTime(milliseconds: UTCTime.now.milliseconds + 36_000_000) }
            try RememberedClock(lastSeen: wallClock(), isConfirmed: true).write(of: "test", in: target)
            let retention = Retention(
                directory: target, channel: "test", rules: .init(maximumAge: .seconds(3600), minimumAge: .zero),
                leastFree: 0, clock: clock,
                wallClock: wallClock, logger: quiet)
            for _ in 0..<4 {
                retention.check()
                clock.advance(by: .seconds(61))
            }
            #expect(try place.files() == others, "\(context)")
            #expect(retention.status.deletedFiles == own.count && retention.status.files == 0, "\(context)")
        }
    }

    // A catalogue of an earlier version has rows for files of a nested record directory.
    @Test
    func `Rows for files of a nested record directory are removed, and these files are not uploaded`() async throws {
        let directory = try Recording.make()
        let inner = directory.path("inner")
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        let name = try #require(directory.files.first { $0.hasSuffix(".mp4") })
        try FileManager.default.copyItem(atPath: directory.path(name), toPath: "\(inner)/\(name)")
        let store = try CatalogueStore(directory: directory.path)
        let facts = try SegmentReader.read("\(inner)/\(name)")
        try store.put([CatalogueSegment(name: "inner/\(name)", facts: facts)], living: [])
        try store.setUpload(.waiting, of: "inner/\(name)")
        _ = try RecordDirectory.prepare(inner)
        let target = try RecordDirectory.prepare(directory.path)
        #expect(try target.nestedArchives() == ["inner"])
        let catalogue = Catalogue(directory: target, channel: "test", logger: quiet)
        catalogue.start()
        let backlog = await withCheckedContinuation { answer in
            catalogue.uploads(besides: []) { answer.resume(returning: $0) }
        }
        #expect(backlog?.files == 5)
        #expect(try store.segments().map(\.name) == directory.files.filter { $0.hasSuffix(".mp4") })
        #expect(throws: FileFailure.self) { try target.delete(recording: "inner/\(name)", of: "test") }
    }

    /// Returns all files that wait for their upload, as an uploader gets them.
    private func waiting(in catalogue: Catalogue) async -> Set<String> {
        var (handed, names): (Set<String>, Set<String>) = ([], [])
        repeat {
            names = handed
            let backlog = await withCheckedContinuation { [handed] answer in
                catalogue.uploads(besides: handed) { answer.resume(returning: $0) }
            }
            if let name = backlog?.next?.name { handed.insert(name) }
        } while handed != names
        return handed
    }

    // Regression: after the catalogue was lost, each transport stream and each unreadable file was uploaded if the
    // template could make its name, even a file of another channel or of a user.
    @Test func `After the catalogue is lost, only the channel's own files wait for their upload`() async throws {
        let directory = try TemporaryDirectory()
        let template = try NameTemplate(parsing: "{date}_{time}_{sequence}")
        let target = try RecordDirectory.prepare(directory.path, template: template)
        let name = { (number: Int, format: RecordFormat) in
            SegmentName(
                channel: "test", start: SampleRecording.start, sequence: number, template: template, format: format
            ).closed
        }
        let junk = [UInt8](repeating: 0x20, count: 900)
        try directory.write(SampleRecording.streamHead(of: "test"), to: name(1, .ts))
        try directory.write(SampleRecording.streamHead(of: "other"), to: name(2, .ts))
        try directory.write(junk, to: name(3, .ts))
        try directory.write(SampleRecording(seconds: 1).closed, to: name(4, .hybrid))
        try directory.write(junk, to: name(5, .hybrid))
        // The end of this recording is lost.
        try directory.write(SampleRecording(seconds: 1).closed.prefix(2000), to: name(6, .hybrid))
        try directory.write([], to: Catalogue.uploadLockName(of: "test"))
        try directory.write([UInt8]("this is no database".utf8), to: ".relay.sqlite")

        let catalogue = Catalogue(directory: target, channel: "test", logger: quiet)
        catalogue.start()
        let handed = await waiting(in: catalogue)
        #expect(handed == [name(1, .ts), name(4, .hybrid), name(6, .hybrid)])
        await withCheckedContinuation { ended in catalogue.finish { ended.resume() } }
    }

    // Regression: files of `test-1` counted towards the limits of `test`, because a number can be appended to a file's
    // name.
    @Test func `Files of the channel test-1 do not count as files of the channel test`() throws {
        let directory = try TemporaryDirectory()
        let template = try NameTemplate(parsing: "{start}_{channel}")
        let target = try RecordDirectory.prepare(directory.path, template: template)
        let name = { (channel: String) in
            SegmentName(channel: channel, start: SampleRecording.start, sequence: 1, template: template).closed
        }
        try directory.write(SampleRecording(seconds: 1, channel: "test-1").closed, to: name("test-1"))
        let own = SampleRecording(seconds: 1).closed
        try directory.write(own, to: name("test"))
        let ownership = Ownership(target, channel: "test")
        #expect(ownership.isNamedAfterChannel(name("test")) && !ownership.isNamedAfterChannel(name("test-1")))
        #expect(Ownership(target, channel: "test-1").isNamedAfterChannel(name("test-1")))
        let retention = Retention(
            directory: target, channel: "test", rules: .init(maximumBytes: Int64(own.count), minimumAge: .zero),
            leastFree: 0, clock: ManualClock(), logger: quiet)
        retention.check()
        #expect(retention.status.files == 1 && retention.status.deletedFiles == 0)
        #expect(directory.files.count == 2)
    }

    @Test
    func `A name template that a directory has stored still matches its files after another template is used`() throws {
        let directory = try TemporaryDirectory()
        let templates = ["a b/{channel}%%{sequence}", "x%Y/{channel}/{time}", "{sequence}%j%y"]
        for text in templates {
            let template = try NameTemplate(parsing: text)
            #expect(try NameTemplate(parsing: template.text).text == template.text)
            _ = try RecordDirectory.prepare(directory.path, template: template)
        }
        let ownership = Ownership(try .existing(directory.path), channel: "test")
        #expect(ownership.matches("a b/test%000007.mp4") && ownership.matches("x2026/test/14-03-10.mp4"))
        #expect(ownership.matches("00000732526.ts.part") && !ownership.matches("c d/test%000007.mp4"))
        #expect(!ownership.matches("a b/other%000007.mp4") && !ownership.matches("a b/.hidden/test%000007.mp4"))
    }
}

extension Neighbourhood {
    fileprivate func isOpen(_ name: String) -> Bool { open.contains { $0 + ".part" == name } }
}
