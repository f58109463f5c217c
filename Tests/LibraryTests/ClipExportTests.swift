// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Foundation
import Media
import RecordingSamples
import Studio
import TestSupport
import Testing

@testable import Library

@Suite("Exports and projects of a channel's clips")
struct ClipExportTests {
    private static let (second, frame): (ProgramInstant, Duration) = (1_000_000_000, .milliseconds(40))

    private let place: TemporaryDirectory
    private let show = SampleShow()
    private let book: ClipStore

    init() throws {
        place = try TemporaryDirectory()
        book = ClipStore(ChannelArchive(place.path, channel: "test"), of: show.source)
    }

    /// Makes the complete clip `id` of the program's seconds from `first` to `end`.
    private func take(_ id: String, _ first: Double, _ end: Double, name: String? = nil) throws {
        show.record(8, recorded: 8)
        _ = try book.start(ClipStart(id: id, name: name, at: first))
        _ = try book.stop(id, at: end, newest: 8)
        #expect(try book.clip(id).state == .done)
    }

    private let fade = Data(#"{"type": "fade", "seconds": 0.5}"#.utf8)

    // MARK: One clip

    @Test("An export has a clip's frames, or one more on each side if requested, and its end unprotects the files")
    func export() throws {
        try take("x", 1, 2, name: "Goal")
        let request = try book.export("x", hasHandles: false)
        let clip = try #require(request.clip)
        #expect(request.channel == "test" && request.name == "Goal" && request.range.count == 1000)
        #expect(clip.run == "a1" && clip.times == Self.second..<2_000_000_000 && clip.frameDuration == Self.frame)
        #expect(clip.isRecorded() && request.stitched.isEmpty && !request.isTrial)
        let wide = try #require(try book.export("x", hasHandles: true).clip)
        #expect(wide.times == 960_000_000..<2_040_000_000)

        book.exporting("x", job: "job")
        let waiting = try book.clip("x")
        #expect(waiting.isHeld && waiting.export == "job")
        // The audio offset of an export with extra frames differs from the clip's, so it is not stored.
        wide.finished(5)
        let released = try book.clip("x")
        #expect(!released.isHeld && released.audioOffsetSeconds == nil)
        clip.finished(-20_000_000)
        #expect(try book.clip("x").audioOffsetSeconds == -0.02)
    }

    @Test("A clip exported with an extra frame at each end has no frame before the program's first frame")
    func firstFrames() throws {
        try take("x", 0, 1)
        #expect(try book.export("x", hasHandles: true).clip?.times == 0..<Self.second + Self.frame)
    }

    @Test("Whether a clip's files are unprotected is stored in the catalogue")
    func released() throws {
        try take("x", 1, 2)
        try book.export("x", hasHandles: false).clip?.finished(-1)
        let ledger = ChannelLedger(directory: try .prepare(place.path), channel: "test")
        try eventually("the catalogue has the release") {
            book.writer.flush()
            let row = try? ledger.clips().first
            return row?.released != nil && row?.audioOffset == -1
        }
    }

    @Test("A clip that is still recorded, empty or unknown is not exported")
    func refused() throws {
        #expect(refusal { _ = try book.export("x", hasHandles: false) } == .notFound)
        show.record(8, recorded: 8)
        _ = try book.start(ClipStart(id: "x", at: 5))
        #expect(refusal { _ = try book.export("x", hasHandles: false) } == .conflict)
        #expect(refusal { _ = try book.stitch([ClipPart(id: "x")]) } == .conflict)
        // The recording ends before the clip begins.
        show.stop()
        try place.write(SampleRecording(seconds: 4).closed, to: SampleRecording.name)
        #expect(try book.clip("x").state == .empty)
        #expect(refusal { _ = try book.export("x", hasHandles: false) } == .conflict)
    }

    @Test("A renamed clip is exported under its new name, and a removed clip is not exported")
    func renamed() throws {
        try take("x", 1, 2, name: "Goal")
        #expect(try book.rename("x", to: "Foul").name == "Foul")
        #expect(try book.export("x", hasHandles: false).name == "Foul")
        #expect(try book.rename("x", to: nil).name == nil)
        try book.remove("x")
        #expect(refusal { _ = try book.export("x", hasHandles: false) } == .notFound)
        #expect(refusal { _ = try book.rename("x", to: "Goal") } == .notFound)
        #expect(refusal { try book.remove("x") } == .notFound)
    }

    // MARK: Several clips

    @Test("A stitched export has its clips in the requested order, without skipped frames, and unprotects their files")
    func stitched() throws {
        try take("x", 1, 2, name: "Goal")
        try take("y", 3, 4)
        let transition = try JSONDecoder().decode(TransitionRequest.self, from: fade)
        let request = try book.stitch([
            ClipPart(id: "y", skipped: (2, 3)),
            ClipPart(id: "x", transition: transition, audioOffset: .milliseconds(20)),
        ])
        let times: [Range<ProgramInstant>] = [3_080_000_000..<3_880_000_000, 1_000_000_000..<2_000_000_000]
        #expect(request.stitched.map(\.clip.times) == times)
        #expect(request.stitched.map(\.title) == [nil, "Goal"])
        #expect(request.stitched.map(\.transition) == [nil, transition])
        #expect(request.stitched.map(\.audioOffset) == [.zero, .milliseconds(20)])
        #expect(request.clip == nil && request.range.count == 3000 && !request.isTrial)
        request.stitched[0].clip.finished(nil)
        #expect(try book.list().map(\.isHeld) == [true, false])
    }

    @Test("A trial export leaves the files of its clips protected")
    func trial() throws {
        try take("x", 1, 2)
        let request = try book.stitch([ClipPart(id: "x", isHeldOn: true)])
        request.stitched[0].clip.finished(nil)
        #expect(request.isTrial)
        #expect(try book.clip("x").isHeld)
    }

    @Test("A stitched export without parts, or with a part that skips all frames of its clip, is refused")
    func tooLittle() throws {
        try take("x", 1, 2)
        #expect(try book.stitch([ClipPart(id: "x", skipped: (12, 12))]).stitched.count == 1)
        #expect(refusal { _ = try book.stitch([ClipPart(id: "x", skipped: (12, 13))]) } == .unusable)
        #expect(refusal { _ = try book.project([ClipPart(id: "x", skipped: (25, 0))]) } == .unusable)
        #expect(refusal { _ = try book.stitch([]) } == .unusable)
        #expect(refusal { _ = try book.stitch([ClipPart(id: "x"), ClipPart(id: "z")]) } == .notFound)
    }

    // MARK: Projects

    @Test("A stitch project contains the file positions of each clip, and a comment for a clip without files")
    func project() throws {
        try place.write(SampleRecording(seconds: 4).closed, to: SampleRecording.name)
        try take("y", 3, 3.4)
        try take("x", 1, 2, name: "Goal")
        func segment(_ name: String, _ start: String, _ length: String) -> ReadYAML {
            .map([
                "name": .text(name), "file": .text(SampleRecording.name), "in": .text("\(start)s"),
                "duration": .text("\(length)s"),
            ])
        }
        let text = try book.project()
        #expect(
            try ReadYAML(text).segments == [
                segment("Goal", "1.000000", "1.000000"), segment("Clip 2", "3.000000", "0.400000"),
            ], "\(text)")
        try FileManager.default.removeItem(atPath: place.path(SampleRecording.name))
        let later = try book.project()
        #expect(try ReadYAML(later).segments.isEmpty && later.contains("# Goal is not recorded any more."), "\(later)")
    }

    @Test("A stitch project keeps the order, transitions and offsets of its parts, and omits skipped frames")
    func projectOfParts() throws {
        try place.write(SampleRecording(seconds: 4).closed, to: SampleRecording.name)
        try take("x", 1, 2)
        let transition = try JSONDecoder().decode(TransitionRequest.self, from: fade)
        let text = try book.project([
            // The first part has no transition.
            ClipPart(id: "x", skipped: (5, 5), transition: transition),
            ClipPart(id: "x", transition: transition, audioOffset: .milliseconds(-40)),
        ])
        let segments = try ReadYAML(text).segments
        #expect(segments.map { $0["in"] } == [.text("1.200000s"), .text("1.000000s")], "\(text)")
        #expect(segments.map { $0["duration"] } == [.text("0.600000s"), .text("1.000000s")])
        #expect(segments.map { $0["transition"]?["type"] } == [nil, .text("fade")])
        #expect(segments.map { $0["audioOffset"] } == [nil, .text("-0.040000s")])
    }
}
