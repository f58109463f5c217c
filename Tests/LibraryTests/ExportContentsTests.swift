// SPDX-License-Identifier: Apache-2.0

import Foundation
import Kernels
import Stitcher
import TestSupport
import Testing

@testable import Catalogue
@testable import Library

@Suite("The parts and the report of an export")
struct ExportContentsTests {
    private let place: TemporaryDirectory

    init() throws { place = try TemporaryDirectory() }

    /// Selects `range` from files of five seconds that begin at `starts`, all in milliseconds.
    private func selection(_ range: Range<Int64>, of starts: Int64..., type: String = "mp4") throws -> ExportSelection {
        let segments = try starts.map { start in
            let text = """
                {"name":"\(start).\(type)","channel":"cam","run":"a","start":\(start),
                 "program_start":\(start * 1_000_000),"duration":5000000000,"late_frames":0,
                 "frame_duration":40000000,"frames":125,"audio_samples":0,"bytes":1}
                """
            return try JSONDecoder().decode(CatalogueSegment.self, from: Data(text.utf8))
        }
        return try ExportSelection(segments, in: place.path, channel: "cam", range: range)
    }

    @Test("One range of MP4 recordings can be copied, and one range of MPEG-TS recordings is stitched")
    func one() throws {
        let movie = ExportContents(try selection(11_000..<12_000, of: 10_000))
        let recorded = try #require(movie.recorded)
        #expect(recorded.range == 11_000..<12_000 && !movie.isStream && movie.notes.isEmpty)
        #expect(movie.paths == [place.path("10000.mp4")] && movie.clips.count == 1)
        let stream = ExportContents(try selection(11_000..<12_000, of: 10_000, type: "ts"))
        #expect(stream.isStream && stream.recorded == nil && stream.paths == [place.path("10000.ts")])
    }

    @Test("Joined ranges are stitched one right after the other, with a transition to each but the first")
    func joined() throws {
        let fade = StitchTransition(Transition(.fade), duration: .milliseconds(500))
        let ranges: [Range<Int64>] = [11_000..<12_000, 13_000..<14_000, 14_000..<14_500]
        let contents = ExportContents(joining: try ranges.map { try selection($0, of: 10_000) }, transition: fade)
        #expect(contents.recorded == nil && !contents.isStream && contents.notes.isEmpty)
        #expect(contents.clips.map(\.transition) == [nil, fade, fade])
        #expect(contents.clips.map(\.from) == [.seconds(1), .seconds(3), .seconds(4)])
        #expect(contents.clips.map(\.to) == [.seconds(2), .seconds(4), .milliseconds(4500)])
        // The frame at 14 s is already in the second range.
        #expect(contents.clips.map(\.takesBegun) == [false, false, true])
        #expect(contents.paths == [String](repeating: place.path("10000.mp4"), count: 3))
    }

    @Test("A gap within a joined range is omitted, and the range's transition leads only to its first file")
    func gap() throws {
        let fade = StitchTransition(Transition(.fade), duration: .milliseconds(500))
        let selections = [
            try selection(11_000..<12_000, of: 10_000), try selection(13_000..<24_000, of: 10_000, 20_000),
        ]
        let contents = ExportContents(joining: selections, transition: fade)
        #expect(contents.clips.map(\.transition) == [nil, fade, nil])
        #expect(contents.notes.count == 1 && contents.notes[0].hasSuffix("it is left out"), "\(contents.notes)")
        let one = ExportContents(selections[1])
        #expect(one.notes.count == 1 && one.notes[0].hasSuffix("the frame before it stays, without audio"))
    }

    @Test("A copied export reports its gaps, how much longer than requested it is, and further notes")
    func details() throws {
        let text = """
            {"start": "", "milliseconds": 2000, "widened_start_ms": 41, "widened_end_ms": 80, "copied_frames": 50,
             "encoded_frames": 2, "files": 1, "gaps": [{"from": "a", "to": "b"}]}
            """
        var report = try JSONDecoder().decode(ClipReport.self, from: Data(text.utf8))
        let result = ExportResult(report: .copied(report), isExact: false, audioOffset: nil, notes: ["more"])
        #expect(
            result.details == [
                "nothing was recorded from a to b", "it begins 41 ms earlier than asked for",
                "it ends 80 ms later than asked for", "more",
            ])
        #expect(result.frames == (50, 2) && result.milliseconds == 2000)
        // The requested range of a clip is half a frame shorter at both ends, so a widening of up to a frame is not
        // reported.
        let clip = ClipExport(
            run: "a", times: 0..<1, frameDuration: .milliseconds(40), isRecorded: { true }, finished: { _ in })
        clip.tell(&report)
        #expect(report.widenedStart == 0 && report.widenedEnd == 80)
    }
}
