// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import MP4
import Media
import RecordingSamples
import TestSupport
import Testing

@testable import Library

@Suite("Access to a recorded file by its identifier")
struct ArchivedFileTests {
    private let place: TemporaryDirectory
    private let archive: ChannelArchive

    init() throws {
        place = try TemporaryDirectory()
        _ = try RecordDirectory.prepare(place.path)
        archive = ChannelArchive(place.path, channel: "test")
    }

    private func name(_ number: Int, format: RecordFormat = .hybrid) -> String {
        SegmentName(channel: "test", start: SampleRecording.start, sequence: number, format: format).closed
    }

    private func openName(_ number: Int) -> String { name(number) + SegmentName.openMark }

    @Test("An identifier of a path outside the directory, of a hidden file or of an invalid name opens no file")
    func foreign() throws {
        let outside = try TemporaryDirectory()
        let file = name(1)
        for place in [place, outside] { try place.write(SampleRecording().closed, to: file) }
        let inner = try #require(place.path.split(separator: "/").last)
        let sibling = try #require(outside.path.split(separator: "/").last)
        let names = [
            "", ".", "..", "/", "./\(file)", "../\(inner)/\(file)", "../\(sibling)/\(file)", "\(outside.path)/\(file)",
            "//\(file)", "\(file)/", "\(file)/.", "\(file)\0", "\(file)\0.mp4", "%2e%2e%2f\(sibling)%2f\(file)",
            "100%", "%", "a%00b", ".relay.sqlite", ".relay-hold-\(file)", "\(String(repeating: "a", count: 5000)).mp4",
        ]
        let id = RecordingID.id(of: file)
        let raw = [file, "../\(file)", "\(id)=", "\(id)%3D", "\(id)/", "/\(id)", "\(id) ", "%\(id)", "\(id).", id + id]
        #expect(try archive.finishedName(of: id) == file)
        for id in names.map({ RecordingID.id(of: $0) }) + raw {
            let opened = refusal { _ = try archive.open(id) }
            let held = refusal { try archive.setHold(true, of: id) }
            let planned = refusal { _ = try archive.planDeletion(of: id) }
            #expect(opened == .notFound && held == .notFound && planned == .notFound, "\(id)")
        }
        #expect(place.files == [file] && !place.all.contains { $0.hasPrefix(".relay-hold") })
    }

    @Test("A name template's subdirectories are searched for recordings, but symbolic links are not followed")
    func linkedDirectory() throws {
        let archive = ChannelArchive(
            place.path, template: try NameTemplate(parsing: "{date}/{channel}_{sequence}"), channel: "test")
        let outside = try TemporaryDirectory()
        try outside.write(SampleRecording().closed, to: "test_000002.mp4")
        let files = FileManager.default
        try files.createDirectory(atPath: place.path("2026-11-21"), withIntermediateDirectories: false)
        try place.write(SampleRecording().closed, to: "2026-11-21/test_000001.mp4")
        try files.createSymbolicLink(atPath: place.path("2026-11-22"), withDestinationPath: outside.path)
        let (real, linked) = ("2026-11-21/test_000001.mp4", "2026-11-22/test_000002.mp4")
        #expect(files.fileExists(atPath: place.path(linked)))
        #expect(try archive.list(0..<Int64.max, limit: 10).recordings.map(\.name) == [real])
        #expect(try archive.open(RecordingID.id(of: real)).name == "test_000001.mp4")
        let opened = refusal { _ = try archive.open(RecordingID.id(of: linked)) }
        #expect(opened == .notFound)
    }

    @Test("An identifier that was altered opens no file, and each file name has only one identifier")
    func changed() throws {
        try place.write(SampleRecording().closed, to: name(1))
        let id = RecordingID.id(of: name(1))
        let letters = Array("AZaz09-_+/=%.~ é")
        var random = SeededRandom()
        for _ in 0..<500 {
            var changed = Array(id)
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let index = changed.indices.randomElement(using: &random) ?? 0
                let letter = letters.randomElement(using: &random) ?? "A"
                switch Int.random(in: 0..<3, using: &random) {
                case 0: changed[index] = letter
                case 1: changed.insert(letter, at: index)
                default: changed.remove(at: index)
                }
            }
            let text = String(changed)
            if let name = RecordingID.name(of: text) { #expect(RecordingID.id(of: name) == text) }
            guard text != id else { continue }
            let opened = refusal { _ = try archive.open(text) }
            #expect(opened == .notFound, "\(text)")
        }
    }

    @Test("A recording whose name has a subdirectory and a percent sign can be listed, held, read and deleted")
    func percent() throws {
        let template = try NameTemplate(parsing: "{date}/100%%2F_{channel}_{sequence}")
        let archive = ChannelArchive(place.path, template: template, channel: "test")
        let name = "2026-11-21/100%2F_test_000007.mp4"
        #expect(
            SegmentName(channel: "test", start: SampleRecording.start, sequence: 7, template: template).closed == name)
        try FileManager.default.createDirectory(
            atPath: place.path("2026-11-21"), withIntermediateDirectories: false)
        try place.write(SampleRecording().closed, to: name)
        let id = RecordingID.id(of: name)
        for isHeld in [true, false] {
            try archive.setHold(isHeld, of: id)
            let list = try archive.list(0..<Int64.max, limit: 10).recordings
            #expect(list.map(\.name) == [name] && list.map(\.id) == [id] && list.map(\.isHeld) == [isHeld])
            let planned = refusal { _ = try archive.planDeletion(of: id) }
            #expect(planned == (isHeld ? Refusal.Kind.conflict : nil))
        }
        #expect(try archive.open(id).name == "100%2F_test_000007.mp4")
        let plan = try archive.planDeletion(of: id)
        #expect(try archive.delete(token: plan.token, subject: .recording(id: id)).deleted == plan.deletes)
        #expect(!FileManager.default.fileExists(atPath: place.path(name)))
    }

    @Test("An open recording has the size of its complete fragments, and each range contains the bytes of the file")
    func growing() throws {
        var random = SeededRandom()
        let sample = SampleRecording(seconds: 6)
        let (id, ends) = (RecordingID.id(of: name(1)), sample.fragments + [sample.open.count])
        var written = sample.fragments[0]
        while written < sample.open.count {
            let bytes = Array(sample.open.prefix(written))
            try place.write(bytes, to: openName(1))
            let file = try archive.open(id)
            let whole = ends.filter { $0 <= written }
            #expect(file.size == whole.last.map { Int64($0) } && file.tag == nil && file.name == name(1))
            try expectRanges(of: file, are: bytes, &random)
            let listed = try archive.list(0..<Int64.max, limit: 1).recordings
            #expect(listed.map(\.frames) == [(whole.count - 1) * 25] && listed.map(\.bytes) == [Int64(written)])
            written += Int.random(in: 1...3000, using: &random)
        }
        try place.write(sample.closed, to: openName(1))
        try FileManager.default.moveItem(atPath: place.path(openName(1)), toPath: place.path(name(1)))
        let file = try archive.open(id)
        #expect(file.size == Int64(sample.closed.count) && file.type == "video/mp4")
        let again = try archive.open(id).tag
        #expect(file.tag != nil && file.tag == again)
        try expectRanges(of: file, are: sample.closed, &random)
        // A client that has the file open can read it to its end, even after its name was removed.
        try FileManager.default.removeItem(atPath: place.path(name(1)))
        try expectRanges(of: file, are: sample.closed, &random)
    }

    private func expectRanges(of file: ArchivedFile, are bytes: [UInt8], _ random: inout SeededRandom) throws {
        for _ in 0..<20 {
            let offset = Int.random(in: 0...bytes.count + 100, using: &random)
            let count = Int.random(in: 0...bytes.count + 100, using: &random)
            #expect(try file.read(Int64(offset), count) == Array(bytes.dropFirst(offset).prefix(count)))
        }
    }

    /// Writes an open file of one fragment, which contains `frames` frames of `size` bytes each. Only the first frame
    /// is a keyframe.
    private func writeOpen(_ number: Int, frames: Int, size: UInt32) throws {
        let sample = SampleRecording(seconds: 1)
        let head = Array(sample.open.prefix(sample.fragments[0]))
        let layout = try FragmentMap(SampleBytes(bytes: head)).layout
        let track = try #require(layout.tracks.first)
        let duration = track.timescale / 25
        let samples = (0..<frames).map { index in
            SampleEntry(
                decodeTime: Int64(index) * Int64(duration), duration: duration, compositionOffset: 0, size: size,
                isSync: index == 0)
        }
        let fragment = Fragment(sequence: 1, runs: [Fragment.Run(track: track, samples: samples)])
        let bytes = head + fragment.encode().header
        try place.write(bytes, to: openName(number))
        try FileDescriptor.open(existing: place.path(openName(number)))
            .truncate(to: Int64(bytes.count) + Int64(frames) * Int64(size))
    }

    /// The refusal of a thumbnail of recording `number`; nil if the thumbnail is made.
    private func answer(
        _ number: Int, format: RecordFormat = .hybrid, at seconds: Double = 0, isExact: Bool = false
    ) -> Refusal? {
        do throws(Refusal) {
            _ = try archive.thumbnail(
                of: RecordingID.id(of: name(number, format: format)), at: seconds, width: 320, isExact: isExact)
            return nil
        } catch {
            return error
        }
    }

    @Test("A thumbnail is refused if its frame is missing, too large or too far behind its keyframe")
    func thumbnails() throws {
        try place.write(SampleRecording.streamHead(of: "test"), to: name(1, format: .ts))
        let sample = SampleRecording()
        try place.write(sample.open.prefix(sample.fragments[0]), to: openName(2))
        try writeOpen(3, frames: 1, size: (16 << 20) + 1)
        try writeOpen(4, frames: 800, size: 1)
        #expect(answer(1, format: .ts)?.kind == .unusable && answer(1, format: .ts, isExact: true)?.kind == .unusable)
        #expect(answer(2)?.kind == .notFound && answer(2, isExact: true)?.kind == .unusable)
        #expect(answer(3)?.detail == "The frame is too large.")
        #expect(answer(4, at: 31, isExact: true)?.detail == "The frame is too far behind its keyframe.")
        #expect(answer(5)?.kind == .notFound)
    }

    @Test("A thumbnail of an undecodable frame is refused, and later thumbnail requests are still answered")
    func undecodable() throws {
        try place.write(SampleRecording().closed, to: name(1))
        for second in 0..<4 {
            for isExact in [false, true] {
                let refusal = answer(1, at: Double(second), isExact: isExact)
                #expect(refusal?.kind == .unavailable && refusal?.detail.hasPrefix("Too many") == false)
            }
        }
    }
}
