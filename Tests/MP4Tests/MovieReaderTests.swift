// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

/// Reads a `moov` whose boxes were written independently of this module.
@Suite struct MovieReaderTests {
    /// The fields of a `trak` that the reader uses.
    private struct Trak {
        var id: Int64 = 1
        var timescale: Int64 = 90_000
        var handler = "vide"
        var width: Int64 = 320 << 16
        var height: Int64 = 180 << 16
        var description: [UInt8] = PlainBox.full("stsd", PlainBox.u32(0))
        /// The edits: durations in movie ticks, and media times.
        var edits: [(duration: Int64, time: Int64)] = [(5000, 100)]

        var box: [UInt8] {
            let matrix = MovieLayout.unityMatrix.flatMap { PlainBox.u32(Int64($0)) }
            let header = PlainBox.full(
                "tkhd", zeros(8) + PlainBox.u32(id) + zeros(24) + matrix + PlainBox.u32(width) + PlainBox.u32(height))
            let list = edits.flatMap { PlainBox.u32($0.duration) + PlainBox.u32($0.time) + PlainBox.u32(1 << 16) }
            let media =
                PlainBox.full("mdhd", zeros(8) + PlainBox.u32(timescale) + zeros(8))
                + PlainBox.full("hdlr", zeros(4) + Array(handler.utf8) + zeros(13))
                + PlainBox.box("minf", PlainBox.box("stbl", description))
            return PlainBox.box(
                "trak",
                header + PlainBox.box("edts", PlainBox.full("elst", PlainBox.u32(Int64(edits.count)) + list))
                    + PlainBox.box("mdia", media))
        }

        private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    }

    private func read(_ tracks: [Trak], timescale: Int64 = 1000, more: [UInt8] = []) throws -> MovieLayout {
        let header = PlainBox.full(
            "mvhd", PlainBox.u32(77) + PlainBox.u32(78) + PlainBox.u32(timescale) + [UInt8](repeating: 0, count: 84))
        return try MovieReader.layout(BoxReader((header + tracks.flatMap(\.box) + more)[...]))
    }

    @Test func `Tracks are read with their sizes, time scales and edits, and tracks of chapters are left out`() throws {
        let audio = Trak(
            id: 2, timescale: 48_000, handler: "soun", width: 0, height: 0, edits: [(250, -1), (4000, 1024)])
        let chapters = Trak(id: 3, timescale: 1000, handler: "text")
        let tags = PlainBox.box("udta", [1, 2, 3])
        let layout = try read([Trak(), audio, chapters], more: tags)
        #expect(layout.timescale == 1000 && layout.creationTime == 77 && layout.userData == tags)
        #expect(layout.tracks.map(\.id) == [1, 2] && layout.tracks.map(\.kind) == [.video, .audio])
        #expect(layout.tracks.map(\.timescale) == [90_000, 48_000])
        #expect(layout.tracks.map(\.width) == [320 << 16, 0] && layout.tracks.map(\.height) == [180 << 16, 0])
        #expect(layout.tracks.map(\.emptyEdit) == [0, 250] && layout.tracks.map(\.mediaTime) == [100, 1024])
        #expect(layout.tracks.map(\.shownDuration) == [5000, 4000])
        #expect(layout.tracks.allSatisfy { $0.matrix == MovieLayout.unityMatrix })
        #expect(layout.tracks[0].sampleDescription == Trak().description)
    }

    @Test func `A movie is refused if it has no time scale, other tracks, or edits of another kind`() throws {
        func refusal(_ tracks: [Trak], timescale: Int64 = 1000) -> String? {
            do {
                _ = try read(tracks, timescale: timescale)
                return nil
            } catch {
                return (error as? MP4Failure)?.description
            }
        }
        #expect(refusal([Trak()]) == nil)
        #expect(refusal([Trak()], timescale: 0) == "a time scale is 0")
        #expect(refusal([Trak(timescale: 0)]) == "a time scale is 0")
        #expect(refusal([Trak(handler: "subt")]) == "a track is of another kind")
        #expect(refusal([Trak(description: [])]) == "there is no stsd")
        let others = "it has other tracks than one of frame and one of audio"
        #expect(refusal([]) == others && refusal([Trak(handler: "text")]) == others)
        #expect(refusal([Trak(), Trak()]) == others && refusal([Trak(id: 0)]) == others)
        #expect(refusal([Trak(), Trak(id: 2), Trak(id: 3)]) == others)
        let edits = "an edit list is of another make"
        #expect(refusal([Trak(edits: [])]) == edits)
        #expect(refusal([Trak(edits: [(1, -1), (2, 0), (3, 0)])]) == edits)
    }

    @Test func `A track may begin ten years after the file's start, but not later`() throws {
        let decade: Int64 = 315_360_000
        let late = try read([Trak(edits: [(decade, -1), (5, 0)])], timescale: 1)
        #expect(late.tracks.map(\.emptyEdit) == [decade])
        #expect(throws: MP4Failure(description: "a track begins absurdly late")) {
            try read([Trak(edits: [(decade + 1, -1), (5, 0)])], timescale: 1)
        }
    }
}
