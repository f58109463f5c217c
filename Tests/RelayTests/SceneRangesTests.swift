// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Kernels
import Media
import Program
import Testing

@testable import Catalogue
@testable import Library
@testable import Relay
@testable import Studio

@Suite("Finding when a scene was on air")
struct SceneRangesTests {
    /// When the program of `run` began, in milliseconds since 1970.
    private static let begin: Int64 = 1_800_000_000_000

    /// Returns a file of 25 frames per second that begins `second` seconds after the program.
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

    /// Returns the event that the scene `text` came on air at `frame`. The event is dated `late` milliseconds later.
    private func event(
        _ text: String, _ frame: Int64, late: Int64 = 7, begin: Int64 = begin, channel: String = "relay"
    ) -> CatalogueEvent {
        CatalogueEvent(
            channel: channel, at: UTCTime(milliseconds: begin + frame * 40 + late),
            words: "\(text) from frame \(frame) (cut)")
    }

    private func ranges(
        of scene: String, _ segments: [CatalogueSegment], _ events: [CatalogueEvent], channel: String? = nil,
        limits: Range<Int64>? = nil
    ) throws -> [Range<Int64>] {
        let found = try SceneRanges(of: scene, in: segments, events: events, channel: channel, limits: limits)
        return found.ranges.map { $0.lowerBound - Self.begin..<$0.upperBound - Self.begin }
    }

    @Test("The text of a scene event is parsed back as it was written, and other text is not parsed as an event")
    func text() throws {
        let events = [
            SceneEvent(name: "duo", layout: "pip", sources: ["cam1", "cam.2"], frame: 120, transition: "slide-left"),
            SceneEvent(name: nil, layout: "single", sources: ["cam1"], frame: 0, transition: "cut"),
            SceneEvent(name: nil, layout: "slate", sources: [], frame: 9, transition: "fade"),
            SceneEvent(
                name: "duo", layout: "pip", sources: ["cam1", "cam2"], frame: 7, transition: "fade", seconds: 0.5,
                details: ["x=0.1", "y=0.2", "width=0.3"]),
            SceneEvent(
                name: nil, layout: "single", sources: ["cam1"], frame: 7, run: "3f2a", transition: "stinger wipe.2",
                seconds: 1),
            SceneEvent(
                name: "a", layout: "single", sources: ["file"], frame: 7, run: "3f2a", transition: "cut",
                details: [SceneEvent.detail("file", "/a b/50%: ä=1.mp4"), "in=1.5s"]),
        ]
        for event in events { #expect(SceneEvent(words: event.text) == event, "\(event.text)") }
        #expect(events[0].text == "duo: pip cam1 cam.2 from frame 120 (slide-left)")
        #expect(events[4].text == "single cam1 from frame 7 of 3f2a (stinger wipe.2 1.0 s)")
        #expect(events[5].detail("file") == "/a b/50%: ä=1.mp4" && events[5].detail("in") == "1.5s")
        #expect(events[5].detail("audio") == nil)
        // A run-down gives such names to unnamed scenes and to files. They could not be parsed again, so the text omits
        // them.
        for name in ["pip cam1 cam2", "my clip.mp4"] {
            var event = events[1]
            event.name = name
            #expect(SceneEvent(words: event.text) == events[1], "\(name)")
            #expect(SceneEvent(words: "\(name): \(events[1].text)") == events[1], "\(name)")
        }
        #expect(events[0].shows("duo") && events[0].shows("cam.2") && !events[0].shows("pip"))
        let others = [
            "", "cam1", "from frame 1 (cut)", "a from frame x (cut)", "a from frame 99999999999999999999 (cut)",
        ]
        for text in others { #expect(SceneEvent(words: text) == nil, "\(text)") }
    }

    @Test("A recorded program becomes a run-down of the same length, in which each scene begins at its frame")
    func show() throws {
        let segments = [
            try segment(0, 10), try segment(10, 10), try segment(0, 20, run: "a.1", channel: "relay-cam1"),
            // This recording began 2.5 s later.
            try segment(0, 17, run: "a.2", begin: Self.begin + 2500, channel: "relay-cam2"),
        ]
        let fade = SceneEvent(
            name: nil, layout: "pip", sources: ["cam1", "cam2"], frame: 125, transition: "fade", seconds: 0.5,
            details: ["x=0.1", "y=0.2", "width=0.3"])
        let events = [
            event("single cam1", 0),
            CatalogueEvent(
                channel: "relay", at: UTCTime(milliseconds: Self.begin + 5003), scene: fade),
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
        let inputs = "--input cam1.mp4#name=cam1 --input cam2.mp4#name=cam2"
        #expect(all.contains("relay render show.yaml \(inputs),at=2.5s --fps 25 -o show.mp4\n"), "\(all)")
        let pip = #"{scene: {layout: pip, sources: ["cam1", "cam2"], inset: {x: 0.1, y: 0.2, width: 0.3}}, frames: "#
        #expect(
            all.hasSuffix(
                """
                segments:
                  - {source: "cam1", frames: 125}
                  - \(pip)175, transition: {type: fade, seconds: 0.5}}
                  - {scene: slate, frames: 200}

                """), "\(all)")
        // A range that starts in the middle of a scene begins with that scene.
        let middle = try text(6000..<12_400)
        #expect(middle.hasSuffix("segments:\n  - \(pip)150}\n  - {scene: slate, frames: 10}\n"), "\(middle)")
        #expect(middle.contains("\(inputs) --fps 25"))
        // A time within a frame selects that frame, in either half of it.
        for moment: Int64 in [6001, 6039] { #expect(try text(moment..<12_400).contains("\(pip)150}"), "\(moment)") }
        #expect(throws: (any Error).self) { try text(30_000..<40_000) }
        let known = RunDownReader.Known(sources: ["cam1", "cam2"], scenes: [])
        let files = RunDownFiles(directory: "/")
        #expect(try RunDownReader.read(all, name: "show", known: known, files: files).segments.count == 3)
    }

    @Test("The range of a recorded show is from the middle of its first frame to the middle of its last")
    func moments() throws {
        let show = try RecordedShow(
            of: [try segment(0, 10)], [event("single cam1", 50), event("slate", 200)], channel: nil, limits: nil)
        #expect(show.range == Self.begin + 2020..<Self.begin + 9980)
        #expect(show.parts.map(\.frames) == [150, 50])
    }

    @Test("A run-down made from a recording has the color of a dip transition as it was on air")
    func color() throws {
        let blue = try #require(RGBColor("#0a64ff"))
        let dip = SceneEvent(
            name: nil, layout: "single", sources: ["cam1"], frame: 50, run: "a", transition: "dip", seconds: 1,
            details: ["easing=in-out", SceneEvent.detail("color", "\(blue)")])
        let events = [("slate from frame 0 of a (cut)", 0), (dip.text, 2000)].map { text, at in
            CatalogueEvent(
                channel: "relay", at: UTCTime(milliseconds: Self.begin + at as Int64), words: text)
        }
        let segments = [try segment(0, 4), try segment(0, 4, run: "a.1", channel: "relay-cam1")]
        let text = { (limits: Range<Int64>?) in
            try RecordedShow(of: segments, events, channel: "relay", limits: limits)
                .text(directory: "rec", from: "A", to: "B")
        }
        let read = try RunDownReader.read(
            try text(nil), name: "show", known: .init(sources: ["cam1"], scenes: []),
            files: RunDownFiles(directory: "/var/empty"))
        #expect(read.segments.map(\.change) == [.cut, .init(.dip, .seconds(1), easing: .inOut, color: blue)])
        // A range that starts later begins with a cut.
        #expect(try !text(Self.begin + 3000..<Self.begin + 4000).contains("color"))
    }

    @Test("The time of a scene event follows from its run and frame, whatever its date is")
    func runAndFrame() throws {
        // The second file is dated an hour too early, and the event half a day too late.
        let segments = [
            try segment(0, 100), try segment(100, 100, begin: Self.begin - 3_600_000),
            try segment(0, 100, run: "b", begin: Self.begin + 90_000_000),
        ]
        let told = { (frame: Int64, run: String, at: Int64) in
            CatalogueEvent(
                channel: "relay", at: UTCTime(milliseconds: Self.begin + at),
                words: "single cam\(frame % 7) from frame \(frame) of \(run) (cut)")
        }
        let events = [told(0, "a", 0), told(2600, "a", 43_200_000), told(50, "b", -5), told(50, "gone", 0)]
        let show = try RecordedShow(of: segments, events, channel: nil, limits: nil)
        // No file contains the scene of the run `gone`. The gap between the other two runs belongs to the scene before
        // it.
        #expect(show.parts.map(\.frames).first == 2600 && show.parts.last?.frames == 2450)
        #expect(show.parts.count == 3)
    }

    @Test(
        "A frame rate is derived from the duration of one frame",
        arguments: [
            (40_000_000, "25"), (33_333_333, "30"), (33_366_667, "30000/1001"), (41_708_333, "24000/1001"),
            (16_683_333, "60000/1001"), (80_000_000, "25/2"), (66_666_667, "15"), (16_666_667, "60"),
        ] as [(Int64, String)])
    func rates(_ duration: Int64, _ rate: String) {
        #expect("\(FrameRate(frameDuration: duration))" == rate)
    }

    @Test("A source is on air from a scene that contains it until a scene that does not, even across files")
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

    @Test("A scene ends with its recording run; a scene that began in a gap begins with the next file")
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

    @Test("Scene events are read for the given channel, or the given source's program, or else the only channel")
    func channels() throws {
        let segments = try ["relay", "relay-cam1", "b"].map { try segment(0, 10, channel: $0) }
        let events = [event("single cam1", 0)]
        let found = try SceneRanges(of: "cam1", in: segments, events: events, channel: "relay-cam1", limits: nil)
        #expect(found.channel == "relay")
        let both = events + [event("single cam1", 0, channel: "b")]
        #expect(throws: (any Error).self) { try ranges(of: "cam1", segments, both) }
        #expect(try ranges(of: "cam1", segments, both, channel: "b") == [0..<10_000])
    }

    @Test("If several clips are exported, their files are numbered before the extension")
    func names() {
        #expect(RecordingsExportCommand.numbered("a.b/clip.mp4", 2) == "a.b/clip-2.mp4")
        #expect(RecordingsExportCommand.numbered("a.b/clip", 1) == "a.b/clip-1")
        #expect(RecordingsExportCommand.numbered(".clip", 1) == ".clip-1")
    }
}
