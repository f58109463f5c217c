// SPDX-License-Identifier: Apache-2.0

import Archive
import RecordingSamples
import Stitcher
import TestSupport
import Testing

@testable import Catalogue
@testable import Relay

@Suite("Which recordings an export takes")
struct ExportSelectionTests {
    @Test(
        "Of two ranges that are joined, a frame that is seen at the end of one and the beginning of the other comes once"
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
        let next = try selection(2030, 3000).pieces(behind: end)
        #expect(next.map(\.from) == [.milliseconds(2010)] && next.map(\.to) == [.milliseconds(3000)])
        #expect(next.map(\.takesBegun) == [true] && next.map(\.coversEnds) == [false])
        for (from, behind) in [(2060, end), (2000, end), (2030, nil)] as [(Int64, Int64?)] {
            let other = try selection(from, 3000).pieces(behind: behind)
            #expect(other.map(\.from) == [.milliseconds(from)] && other.map(\.coversEnds) == [true], "\(from)")
        }
    }
}
