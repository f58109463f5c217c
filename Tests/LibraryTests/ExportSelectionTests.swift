// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import RecordingSamples
import Stitcher
import TestSupport
import Testing

@testable import Catalogue
@testable import Library

@Suite("The recordings that an export selects")
struct ExportSelectionTests {
    @Test(
        "A frame at which one joined range ends and the next begins is exported once"
    )
    func shared() throws {
        let place = try TemporaryDirectory()
        try place.write(SampleRecording(seconds: 4).closed, to: SampleRecording.name)
        let facts = try SegmentReader.read(place.path(SampleRecording.name))
        let segment = CatalogueSegment(name: SampleRecording.name, facts: facts)
        let start = SampleRecording.start.milliseconds
        func selection(_ from: Int64, _ to: Int64) throws -> ExportSelection {
            try ExportSelection([segment], in: place.path, channel: "test", range: start + from..<start + to)
        }
        // Frames last 40 ms: one begins at 2 s.
        let end = try selection(1000, 2010).range.upperBound
        let next = try selection(2030, 3000).joinedPieces(behind: end)
        #expect(next.map(\.from) == [.milliseconds(2010)] && next.map(\.to) == [.milliseconds(3000)])
        #expect(next.map(\.takesBegun) == [true] && next.map(\.coversEnds) == [false])
        for (from, behind) in [(2060, end), (2000, end), (2030, nil)] as [(Int64, Int64?)] {
            let other = try selection(from, 3000).joinedPieces(behind: behind)
            #expect(other.map(\.from) == [.milliseconds(from)] && other.map(\.coversEnds) == [true], "\(from)")
        }
    }

    @Test("A file after a gap begins at its program time, or in another run at its wall-clock time")
    func holes() throws {
        let place = try TemporaryDirectory()
        // Each file lasts five seconds. The second file's date is 20 ms too early.
        let segments = try [("a", 10_000, 4), ("a", 22_980, 17), ("b", 40_000, 0)].map { run, start, program in
            let text = """
                {"name":"\(start).mp4","channel":"cam","run":"\(run)","start":\(start),
                 "program_start":\(program * 1_000_000_000),"duration":5000000000,"late_frames":0,
                 "frame_duration":40000000,"frames":125,"audio_samples":0,"bytes":1}
                """
            return try JSONDecoder().decode(CatalogueSegment.self, from: Data(text.utf8))
        }
        let selection = try ExportSelection(segments, in: place.path, channel: "cam", range: 12_000..<60_000)
        #expect(selection.pieces.map(\.airtime) == [.zero, .seconds(13), .milliseconds(30_020)])
        #expect(selection.pieces.map(\.from) == [.seconds(2), nil, nil])
        #expect(selection.notes.count == 2 && selection.notes.allSatisfy { $0.contains("the frame before it stays") })
        #expect(selection.joinedPieces(behind: nil).allSatisfy { $0.airtime == nil })
        #expect(selection.joinedNotes.allSatisfy { $0.hasSuffix("it is left out") })
    }
}
