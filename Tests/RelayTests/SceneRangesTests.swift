// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Foundation
import Program
import Testing

@testable import Relay

@Suite("When a scene was on air")
struct SceneRangesTests {
    /// When the program of `run` began, in milliseconds since 1970.
    private static let begin: Int64 = 1_800_000_000_000

    /// A file of 25 frames a second that begins `second` seconds after the program.
    private func segment(
        _ second: Int64, _ length: Int64, run: String = "a", begin: Int64 = begin, channel: String = "relay"
    ) throws -> CatalogueSegment {
        let text = """
            {"name":"\(channel)_\(run)_\(second)","channel":"\(channel)","run":"\(run)",
             "start":\(begin + second * 1000),"program_start":\(second * 1_000_000_000),"duration":\(length * 1_000_000_000),
             "late_frames":0,"frame_duration":40000000,"frames":\(length * 25),"audio_samples":0,"bytes":1}
            """
        return try JSONDecoder().decode(CatalogueSegment.self, from: Data(text.utf8))
    }

    /// `text` came on air with `frame`, and was told some milliseconds later.
    private func event(
        _ text: String, _ frame: Int64, late: Int64 = 7, begin: Int64 = begin, channel: String = "relay"
    ) -> CatalogueEvent {
        CatalogueEvent(
            channel: channel, at: UTCTime(milliseconds: begin + frame * 40 + late), kind: SceneEvent.kind,
            text: "\(text) from frame \(frame) (cut)")
    }

    private func ranges(
        of scene: String, _ segments: [CatalogueSegment], _ events: [CatalogueEvent], channel: String? = nil,
        limits: Range<Int64>? = nil
    ) throws -> [Range<Int64>] {
        let found = try SceneRanges(of: scene, in: segments, events: events, channel: channel, limits: limits)
        return found.ranges.map { $0.lowerBound - Self.begin..<$0.upperBound - Self.begin }
    }

    @Test("What an event says is read as it was written; anything else is none")
    func text() throws {
        let events = [
            SceneEvent(name: "duo", layout: "pip", sources: ["cam1", "cam.2"], frame: 120, transition: "slide-left"),
            SceneEvent(name: nil, layout: "single", sources: ["cam1"], frame: 0, transition: "cut"),
            SceneEvent(name: nil, layout: "slate", sources: [], frame: 9, transition: "fade"),
            SceneEvent(
                name: "duo", layout: "pip", sources: ["cam1", "cam2"], frame: 7, transition: "fade", seconds: 0.5,
                details: ["x=0.1", "y=0.2", "width=0.3"]),
        ]
        for event in events { #expect(SceneEvent(text: event.text) == event, "\(event.text)") }
        #expect(events[0].text == "duo: pip cam1 cam.2 from frame 120 (slide-left)")
        #expect(events[0].shows("duo") && events[0].shows("cam.2") && !events[0].shows("pip"))
        let others = [
            "", "cam1", "from frame 1 (cut)", "a from frame x (cut)", "a from frame 99999999999999999999 (cut)",
        ]
        for text in others { #expect(SceneEvent(text: text) == nil, "\(text)") }
    }

    @Test("What was on air is a run-down of as many frames, whose scenes begin where they did")
    func show() throws {
        let segments = [try segment(0, 10), try segment(10, 10)]
        let fade = SceneEvent(
            name: nil, layout: "pip", sources: ["cam1", "cam2"], frame: 125, transition: "fade", seconds: 0.5,
            details: ["x=0.1", "y=0.2", "width=0.3"])
        let events = [
            event("single cam1", 0),
            CatalogueEvent(
                channel: "relay", at: UTCTime(milliseconds: Self.begin + 5003), kind: SceneEvent.kind, text: fade.text),
            event("slate", 300),
        ]
        let text = { (limits: Range<Int64>?) in
            try RecordedShow(
                of: segments, events, channel: nil,
                limits: limits.map {
                    Self.begin + $0.lowerBound..<Self.begin + $0.upperBound
                }
            ).text(directory: "rec", from: "A", to: "B")
        }
        let all = try text(nil)
        #expect(all.contains("relay recordings export rec --channel relay-cam2 --from A --to B --exact -o cam2.mp4"))
        #expect(all.contains("relay render show.yaml --input cam1.mp4#name=cam1 --input cam2.mp4#name=cam2"))
        let pip = #"{scene: {layout: pip, sources: ["cam1", "cam2"], inset: {x: 0.1, y: 0.2, width: 0.3}}, frames: "#
        #expect(
            all.hasSuffix(
                """
                segments:
                  - {source: "cam1", frames: 125}
                  - \(pip)175, transition: {type: fade, seconds: 0.5}}
                  - {scene: slate, frames: 200}

                """), "\(all)")
        // In the middle of a scene it begins with that.
        #expect(try text(6000..<12_400).hasSuffix("segments:\n  - \(pip)150}\n  - {scene: slate, frames: 10}\n"))
        #expect(throws: (any Error).self) { try text(30_000..<40_000) }
        let known = RunDownReader.Known(sources: ["cam1", "cam2"], scenes: [])
        let files = RunDownFiles(directory: "/")
        #expect(try RunDownReader.read(all, name: "show", known: known, files: files).segments.count == 3)
    }

    @Test("A source is on air from its frame to the next scene's, over files, and in every scene that shows it")
    func source() throws {
        let segments = [try segment(0, 10), try segment(10, 10), try segment(20, 5)]
        let events = [
            event("single cam1", 0), event("single cam2", 50), event("duo: pip cam1 cam2", 300),
            event("single cam1", 350), event("single cam2", 600),
        ]
        #expect(try ranges(of: "cam2", segments, events) == [2000..<14_000, 24_000..<25_000])
        #expect(try ranges(of: "duo", segments, events) == [12_000..<14_000])
        #expect(try ranges(of: "cam1", segments, events) == [0..<2000, 12_000..<24_000])
        let limits = Self.begin + 3000..<Self.begin + 13_000
        #expect(try ranges(of: "cam2", segments, events, limits: limits) == [3000..<13_000])
        #expect(throws: (any Error).self) { try ranges(of: "cam3", segments, events) }
        #expect(throws: (any Error).self) {
            try ranges(of: "duo", segments, events, limits: Self.begin..<Self.begin + 1000)
        }
    }

    @Test("It ends with the recorder's run; what came on air in a gap begins with the file behind it")
    func runs() throws {
        let later = Self.begin + 60_000
        let segments = [
            try segment(0, 10), try segment(15, 5), try segment(0, 10, run: "b", begin: later),
        ]
        let events = [
            event("single cam1", 0), event("single cam2", 300), event("single cam1", 10, begin: later),
        ]
        #expect(try ranges(of: "cam2", segments, events) == [15_000..<20_000])
        #expect(try ranges(of: "cam1", segments, events) == [0..<15_000, 60_400..<70_000])
    }

    @Test("The channel is that of the program: named, named by one of its sources, or the only one")
    func channels() throws {
        let segments = try ["relay", "relay-cam1", "b"].map { try segment(0, 10, channel: $0) }
        let events = [event("single cam1", 0)]
        let found = try SceneRanges(of: "cam1", in: segments, events: events, channel: "relay-cam1", limits: nil)
        #expect(found.channel == "relay")
        let both = events + [event("single cam1", 0, channel: "b")]
        #expect(throws: (any Error).self) { try ranges(of: "cam1", segments, both) }
        #expect(try ranges(of: "cam1", segments, both, channel: "b") == [0..<10_000])
    }

    @Test("Several clips are numbered before their extension")
    func names() {
        #expect(RecordingsExportCommand.numbered("a.b/clip.mp4", 2) == "a.b/clip-2.mp4")
        #expect(RecordingsExportCommand.numbered("a.b/clip", 1) == "a.b/clip-1")
        #expect(RecordingsExportCommand.numbered(".clip", 1) == ".clip-1")
    }
}
