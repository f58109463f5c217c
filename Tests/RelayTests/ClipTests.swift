// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Control
import Foundation
import Kernels
import Media
import Program
import RecordingSamples
import Stitcher
import TestSupport
import Testing

@testable import Library
@testable import Relay
@testable import Studio

@Suite("Clips of a recording")
struct ClipTests {
    /// Returns a file of ten seconds that begins at `start` seconds of program time.
    private func file(_ name: String, _ start: Int64, isOpen: Bool = false) -> RunFile {
        RunFile(
            name: name + (isOpen ? ".part" : ""), closedName: name, start: 1_700_000_000_000 + start * 1000,
            program: .zero + .seconds(start)..<(.zero + .seconds(start + 10)))
    }

    private func clip(_ id: String, _ first: Int64, _ end: Int64?, name: String? = nil) -> CatalogueClip {
        CatalogueClip(
            .init(id: id, run: "a", first: first, end: end), channel: "main", rate: FrameRate(25), start: 0, name: name)
    }

    @Test("A stitch project lists clips in order with file positions; a clip in two files has two segments")
    func project() {
        let clips = [
            clip("x", 30, 50), clip("y", 240, 260, name: "A \"goal\"\n"), clip("z", 100, nil), clip("old", 5000, 5010),
        ]
        let files = [file("one.mp4", 0), file("two.mp4", 10, isOpen: true)]
        #expect(
            ClipProject(channel: "main").text(clips, files: ["a": files]) == """
                # Clips of main, in the order of time. Files lie in the directory of the recordings.
                segments:
                  - name: "Clip 1"
                    file: "one.mp4"
                    in: 1.200000s
                    duration: 0.800000s
                  - name: "A \\"goal\\" "
                    file: "one.mp4"
                    in: 9.600000s
                    duration: 0.400000s
                  - name: "A \\"goal\\" "
                    file: "two.mp4"
                    in: 0.000000s
                    duration: 0.400000s
                    transition: cut
                  # Clip 3 is running.
                  # Clip 4 is not recorded any more.

                """)
        #expect(ClipProject(channel: "main").text([], files: [:]).hasSuffix("segments: []\n"))
    }

    @Test("A stitch project of selected clips has the selected order, transitions and offsets")
    func chosenProject() {
        var (one, two) = (ClipProject.Item(clip("x", 30, 50)), ClipProject.Item(clip("y", 240, 260)))
        two.times = 9_800_000_000..<10_200_000_000
        one.transition = TransitionRequest(.fade, seconds: 0.5)
        (two.transition, two.audioOffset) = (TransitionRequest(.cut), .milliseconds(-40))
        let files = [file("one.mp4", 0), file("two.mp4", 10)]
        #expect(
            ClipProject(channel: "main").text([two, one], in: "their order", files: ["a": files]) == """
                # Clips of main, in their order. Files lie in the directory of the recordings.
                segments:
                  - name: "Clip 1"
                    file: "one.mp4"
                    in: 9.800000s
                    duration: 0.200000s
                    transition: cut
                    audioOffset: -0.040000s
                  - name: "Clip 1"
                    file: "two.mp4"
                    in: 0.000000s
                    duration: 0.200000s
                    transition: cut
                    audioOffset: -0.040000s
                  - name: "Clip 2"
                    file: "one.mp4"
                    in: 1.200000s
                    duration: 0.800000s
                    transition: {type: fade, seconds: 0.500000}

                """)
    }

    @Test("A transition that was written into a stitch project is parsed back unchanged")
    func projectTransition() throws {
        let temporary = try TemporaryDirectory()
        var (one, two) = (ClipProject.Item(clip("x", 30, 50)), ClipProject.Item(clip("y", 60, 80)))
        one.transition = nil
        let color = try #require(RGBColor("#0a64ff"))
        two.transition = TransitionRequest(.dip, seconds: 0.5, easing: .inOut, color: color)
        let text = ClipProject(channel: "main").text([one, two], in: "their order", files: ["a": [file("one.mp4", 0)]])
        try temporary.write(Array(text.utf8), to: "show.yaml")
        try temporary.write([1], to: "one.mp4")
        let read = try StitchProject.read(temporary.path("show.yaml"), transition: nil)
        #expect(
            read.last?.transition
                == StitchTransition(Transition(.dip, easing: .inOut), duration: .milliseconds(500), color: color))
    }

    @Test("Rounding of times in a stitch project does not add a frame of the next file to a clip")
    func rounding() {
        let times: Range<ProgramInstant> = 9_600_000_000..<10_000_000_005
        let pieces = ClipProject.pieces(times, frame: .milliseconds(40), [file("one.mp4", 0), file("two.mp4", 10)])
        #expect(
            pieces == [
                .init(file: "one.mp4", opened: "one.mp4", start: .milliseconds(9600), length: .milliseconds(400))
            ])
    }

    @Test("The bounds of a segment in a stitch project are moved to the frames of its file")
    func fitting() throws {
        let place = try TemporaryDirectory()
        try place.write(SampleRecording().closed, to: "one.mp4")
        let index = try SegmentIndex.read(place.path("one.mp4"))
        func fitted(_ start: Duration, _ length: Duration) -> [Int64] {
            let piece = ClipProject.Piece(file: "one.mp4", opened: "one.mp4", start: start, length: length)
                .fitted(to: index)
            return [piece.start.inMilliseconds, piece.length.inMilliseconds]
        }
        #expect(fitted(.milliseconds(400), .milliseconds(200)) == [400, 200])
        // A difference of less than a millisecond is a rounding error, so the start stays at the same frame.
        #expect(fitted(.microseconds(400_600), .milliseconds(200)) == [400, 200])
        #expect(fitted(.milliseconds(390), .milliseconds(200)) == [400, 200])
        #expect(fitted(.milliseconds(365), .milliseconds(40)) == [400, 40])
        #expect(fitted(.milliseconds(3990), .milliseconds(40)) == [3990, 40])
        #expect(fitted(.milliseconds(3950), .milliseconds(400)) == [3960, 40])
    }

    private func export(_ times: Range<ProgramInstant>) -> ClipExport {
        ClipExport(
            run: "a", times: times, frameDuration: .milliseconds(40), isRecorded: { true }, finished: { _ in })
    }

    @Test("An export requests the files of a clip, from the middle of its first frame to the middle of its last")
    func selection() throws {
        let files = [file("one.mp4", 0), file("two.mp4", 10), file("three.mp4", 20, isOpen: true)]
        let one = try export(9_960_000_000..<10_000_000_000).selection(files, in: "d")
        #expect(one.files.map(\.name) == ["one.mp4"] && one.range == 1_700_000_009_980..<1_700_000_009_981)
        let three = try export(9_960_000_000..<20_040_000_000).selection(files, in: "d")
        #expect(three.files.map(\.path) == ["d/one.mp4", "d/two.mp4", "d/three.mp4.part"])
        #expect(three.range == 1_700_000_009_980..<1_700_000_020_020)
        #expect(throws: ClipFailure.self) { try export(40_000_000_000..<41_000_000_000).selection(files, in: "d") }
    }

    @Test("In an export a clip in two files has two segments with the files' current names, and one transition")
    func stitched() throws {
        let files = [file("one.mp4", 0), file("two.mp4", 10, isOpen: true)]
        let part = ClipPart(
            id: "x", transition: TransitionRequest(.fade, seconds: 0.5), audioOffset: .milliseconds(20))
        let clip = StitchedClip(export(9_600_000_000..<10_400_000_000), title: "goal", part)
        let pieces = ClipStitching.pieces(of: clip, files, in: "d")
        #expect(pieces.map(\.path) == ["d/one.mp4", "d/two.mp4.part"])
        #expect(
            pieces.map(\.from) == [.milliseconds(9600), .zero]
                && pieces.map(\.to) == [.seconds(10), .milliseconds(400)])
        #expect(pieces.map(\.transition?.duration) == [.milliseconds(500), nil])
        #expect(pieces.allSatisfy { $0.audioOffset == .milliseconds(20) && $0.title == "goal" })
        let cut = StitchedClip(
            export(0..<1_000_000_000), title: nil, ClipPart(id: "x", transition: TransitionRequest(.cut)))
        #expect(ClipStitching.pieces(of: cut, files, in: "d").map(\.transition) == [nil])
    }

    @Test("relay ctl prints the list of clips in columns")
    func listing() throws {
        let json = """
            {"clips":[{"id":"a1","state":"done","start":"2026-11-21T14:03:10.000Z","programSeconds":4,
             "durationSeconds":1.5,"frames":45,"isHeld":false,"name":"goal"},
             {"id":"b2","state":"running","start":"2026-11-21T14:03:20.000Z","programSeconds":14,"durationSeconds":0.5,
             "frames":15,"isHeld":true}]}
            """
        let lines = try JSONDecoder().decode(CtlClips.self, from: Data(json.utf8)).text.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].contains("1.500 s  45 frames  exported  goal"), "\(lines)")
        #expect(lines[1].hasPrefix("b2  running  2026-11-21T14:03:20.000Z  0.500 s"), "\(lines)")
        let none = try JSONDecoder().decode(CtlClips.self, from: Data(#"{"clips":[]}"#.utf8))
        #expect(none.text == "there are no clips\n")
    }

    @Test("relay ctl ends the clip that was started last, even if another clip has a later start time")
    func pressedLast() throws {
        func clip(_ id: String, _ state: String, _ start: Int, _ pressed: Int) -> String {
            """
            {"id":"\(id)","state":"\(state)","start":"2026-11-21T14:03:\(start).000Z",
             "pressed":"2026-11-21T14:03:\(pressed).000Z","name":"goal"}
            """
        }
        func clips(_ list: String...) throws -> CtlClips {
            try JSONDecoder().decode(CtlClips.self, from: Data(#"{"clips":[\#(list.joined(separator: ","))]}"#.utf8))
        }
        let some = try clips(
            clip("back", "running", 10, 40), clip("a", "running", 20, 20), clip("b", "done", 50, 50))
        #expect(some.pressedLast?.id == "back")
        #expect(try clips(clip("a", "running", 20, 20), clip("b", "running", 20, 20)).pressedLast?.id == "b")
        #expect(some.clip("goal")?.id == "b" && some.clip("a")?.id == "a" && some.clip("c")?.id == nil)
        #expect(try clips(clip("b", "done", 50, 50)).pressedLast?.id == nil)
    }
}
