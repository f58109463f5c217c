// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

/// Compares the boxes of sample tables with boxes that were written independently of this module.
@Suite struct SampleTableBoxTests {
    private func layout(_ audio: TrackDescription? = nil) -> MovieLayout {
        let rate = FrameRate(25)
        return MovieLayout(
            description: StreamDescription(
                video: TrackDescription(
                    format: VideoFormat(width: 320, height: 180, frameRate: rate),
                    decoderConfiguration: SharedBytes([1, 100, 0, 31]), bitrate: 0, reorderDepth: 2, encoderSettings: ""
                ),
                audio: audio), creationTime: 0, userData: [])
    }

    private func boxes(_ track: MovieLayout.Track, _ table: SampleTable, _ form: MovieForm = .mp4) throws -> [UInt8] {
        var writer = BoxWriter()
        SampleTableBox.encode(track, table, form, &writer)
        try #require(writer.bytes.starts(with: track.sampleDescription))
        return Array(writer.bytes.dropFirst(track.sampleDescription.count))
    }

    private func numbers(_ values: Int64...) -> [UInt8] { values.flatMap(PlainBox.u32) }

    private func chunks(_ offsets: Int64...) -> [UInt8] {
        PlainBox.full("co64", numbers(Int64(offsets.count)) + offsets.flatMap { PlainBox.number($0, bytes: 8) })
    }

    /// Three frames in two chunks; the second frame is shown `later` than it is decoded.
    private func table(later: Int32) -> SampleTable {
        var table = SampleTable()
        func frame(_ time: Int64, _ duration: UInt32, _ later: Int32, isSync: Bool = false) -> SampleEntry {
            SampleEntry(
                decodeTime: time, duration: duration, compositionOffset: later, size: UInt32(50 + time), isSync: isSync)
        }
        table.append([frame(0, 10, 0, isSync: true), frame(10, 10, later)], at: 100)
        table.append([frame(20, 25, 0)], at: 1 << 33)
        return table
    }

    @Test func `Equal durations and offsets are listed as runs, and each chunk with its place and its samples`() throws
    {
        let track = layout().tracks[0]
        let times = PlainBox.full("stts", numbers(2, 2, 10, 1, 25))
        let rest =
            PlainBox.full("stss", numbers(1, 1)) + PlainBox.full("stsc", numbers(2, 1, 2, 1, 2, 1, 1))
            + PlainBox.full("stsz", numbers(0, 3, 50, 60, 70)) + chunks(100, 1 << 33)
        #expect(try boxes(track, table(later: 0)) == times + rest)
        let offsets = PlainBox.full("ctts", numbers(3, 1, 0, 1, 5, 1, 0))
        #expect(try boxes(track, table(later: 5)) == times + offsets + rest)
    }

    @Test func `Negative offsets are written in a box of version 1, or of version 0 for QuickTime`() throws {
        let track = layout().tracks[0]
        for (form, version) in [(MovieForm.mp4, Int64(1)), (.fragmented, 1), (.mov, 0)] {
            let offsets = PlainBox.full("ctts", version: version, numbers(3, 1, 0, 1, -5, 1, 0))
            let found = try boxes(track, table(later: -5), form)
            let place = try #require(BoxReader.positions(of: Array("ctts".utf8), in: found).first)
            #expect(Array(found[(place - 4)...].prefix(offsets.count)) == offsets, "\(form)")
        }
    }

    @Test func `The boxes of an open file list no sample`() throws {
        let empty =
            PlainBox.full("stts", numbers(0)) + PlainBox.full("stsc", numbers(0)) + PlainBox.full("stsz", numbers(0, 0))
            + chunks()
        let audio = TrackDescription(audio: .aac, format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]))
        for track in layout(audio).tracks { #expect(try boxes(track, SampleTable()) == empty) }
    }

    @Test func `A packet of AAC needs one packet before it to be decoded`() throws {
        let audio = TrackDescription(audio: .aac, format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]))
        let track = try #require(layout(audio).tracks.last)
        var table = SampleTable()
        let packets = (0..<3).map {
            SampleEntry(decodeTime: $0 * 1024, duration: 1024, compositionOffset: 0, size: 9, isSync: true)
        }
        table.append(packets, at: 48)
        let groups =
            PlainBox.full(
                "sgpd", version: 1, Array("roll".utf8) + numbers(2, 1) + PlainBox.number(-1, bytes: 2))
            + PlainBox.full("sbgp", Array("roll".utf8) + numbers(1, 3, 1))
        let found = try boxes(track, table)
        #expect(Array(found.suffix(groups.count)) == groups)
        #expect(BoxReader.positions(of: Array("stss".utf8), in: found).isEmpty)
    }
}
