// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

/// Boxes with values of more than 32 bits have version 1 (ISO/IEC 14496-12, 8.2.2, 8.3.2, 8.4.2, 8.6.6).
@Suite struct MovieBoxTests {
    /// A file with one video track and `timescale` movie ticks per second.
    private func layout(timescale: UInt32, creationTime: UInt64 = 0) -> MovieLayout {
        var stsd = BoxWriter()
        stsd.fullBox("stsd") { box in
            box.u32(1)
            box.box("avc1") { $0.zeros(78) }
        }
        let track = MovieLayout.Track(
            id: 1, kind: .video, timescale: timescale, width: 320 << 16, height: 180 << 16,
            sampleDescription: stsd.bytes)
        return MovieLayout(timescale: timescale, creationTime: creationTime, tracks: [track], userData: [])
    }

    /// Samples that last `ticks` in total; the first is shown at 0.
    private func table(ticks: Int64, mediaTime: Int64 = 0) -> SampleTable {
        var table = SampleTable()
        var time: Int64 = 0
        while time < ticks {
            let duration = min(ticks - time, 1 << 31)
            let sample = SampleEntry(
                decodeTime: time, duration: UInt32(duration), compositionOffset: Int32(mediaTime), size: 10,
                isSync: time == 0)
            table.append([sample], at: UInt64(MovieBox.headSize + table.count * 10))
            time += duration
        }
        return table
    }

    private func versions(_ moov: [UInt8]) throws -> [UInt8] {
        try ["mvhd", "tkhd", "elst", "mdhd"].map { type in
            let place = try #require(BoxReader.positions(of: Array(type.utf8), in: moov).first)
            return moov[place + 4]
        }
    }

    private func read(_ moov: [UInt8], media: Int) throws -> MovieFile {
        let end = MovieBox.headSize + media
        let bytes = MovieBox.closedHead(mediaEnd: Int64(end)) + [UInt8](repeating: 1, count: media) + moov
        return try MovieFile.read(MemorySource(bytes: bytes))
    }

    @Test(arguments: [(Int64(4_294_967_295), UInt8(0)), (4_294_967_296, 1), (8_640_000_000, 1)])
    func `A file of more than 2^32 ticks (12.4 h at 96 kHz) has the right duration`(ticks: Int64, version: UInt8) throws
    {
        let layout = layout(timescale: 96_000)
        let table = table(ticks: ticks)
        let moov = MovieBox.closed(layout, [1: table])
        // In the edit list, version 0 has only 31 bits.
        #expect(try versions(moov) == [version, version, 1, version])
        let file = try read(moov, media: table.count * 10)
        #expect(file.layout.tracks[0].shownDuration == ticks)
        #expect(file.tables[1]?.duration == ticks)
        let check = TrackCheck(
            layout: file.layout, track: file.layout.tracks[0], table: try #require(file.tables[1]), isClosed: true,
            endsSuddenly: false)
        #expect(check.facts.shown == ticks)
        let edits = check.problems(media: 48..<Int64(48 + table.count * 10)).filter { $0.contains("edit list") }
        #expect(edits.isEmpty)
    }

    @Test func `A short file has boxes of version 0, and its edit list is read back`() throws {
        var layout = layout(timescale: 90_000)
        (layout.tracks[0].emptyEdit, layout.tracks[0].mediaTime) = (450, 3600)
        let moov = MovieBox.closed(layout, [1: table(ticks: 90_000, mediaTime: 3600)])
        #expect(try versions(moov) == [0, 0, 0, 0])
        let track = try read(moov, media: 10).layout.tracks[0]
        #expect(track.emptyEdit == 450 && track.mediaTime == 3600 && track.shownDuration == 90_000)
    }

    @Test(
        arguments: [
            (.aac, 1024, 1), (.aac, 2048, 1), (.opus, 960, 4), (.opus, 120, 32), (.opus, 2880, 2), (.mp3, 1152, nil),
            (.ac3, 1536, nil),
        ] as [(Codec, UInt32, UInt8?)])
    func `An audio track says how many packets must be decoded before each one, as its codec needs`(
        codec: Codec, duration: UInt32, packets: UInt8?
    ) throws {
        let audio = TrackDescription(
            audio: codec, format: AudioFormat(sampleRate: 48_000, channels: 2),
            decoderConfiguration: SharedBytes([0x11, 0x90]))
        var table = SampleTable()
        for number in 0..<Int64(100) {
            let entry = SampleEntry(
                decodeTime: number * Int64(duration), duration: duration, compositionOffset: 0, size: 10, isSync: true)
            table.append([entry], at: UInt64(MovieBox.headSize) + UInt64(number) * 10)
        }
        for form in [MovieForm.mp4, .mov] {
            let layout = MovieLayout(
                description: StreamDescription(audio: audio), creationTime: 0, userData: [], form: form)
            let moov = MovieBox.closed(layout, [MovieLayout.audioID: table])
            let place = BoxReader.positions(of: Array("sgpd".utf8), in: moov).first
            let distance = place.map { [moov[$0 + 20], moov[$0 + 21]] }
            #expect(distance == packets.map { [UInt8(0xFF), 0xFF - $0 + 1] })
            #expect(BoxReader.positions(of: Array("sbgp".utf8), in: moov).isEmpty == (packets == nil))
        }
    }

    @Test func `The display matrix of a track is written and read back`() throws {
        let matrix: [UInt32] = [0, 0x10000, 0, 0xFFFF_0000, 0, 0, 180 << 16, 0, 0x4000_0000]
        func track(_ matrix: [UInt32]?) -> MovieLayout.Track? {
            let video = TrackDescription(
                video: .h264, frames: FrameFormat(width: 320, height: 180), timeBase: .mpegTS,
                decoderConfiguration: SharedBytes([1, 100, 0, 31, 0xFF, 0xE0, 0]), displayMatrix: matrix)
            return MovieLayout(description: StreamDescription(video: video), creationTime: 0, userData: []).tracks.first
        }
        #expect(track(matrix)?.matrix == matrix && track(nil)?.matrix == MovieLayout.unityMatrix)
        var layout = layout(timescale: 90_000)
        layout.tracks[0].matrix = matrix
        let moov = MovieBox.closed(layout, [1: table(ticks: 90_000)])
        #expect(try read(moov, media: 10).layout.tracks[0].matrix == matrix)
    }

    @Test func `Edit lists of version 1 are read back, including an empty edit and hidden samples`() throws {
        var layout = layout(timescale: 90_000)
        (layout.tracks[0].emptyEdit, layout.tracks[0].mediaTime) = (5_000_000_000, 3_000_000_000)
        let moov = MovieBox.closed(layout, [1: table(ticks: 9_000_000_000)])
        #expect(try versions(moov) == [1, 1, 1, 1])
        let track = try read(moov, media: 50).layout.tracks[0]
        #expect(track.emptyEdit == 5_000_000_000 && track.mediaTime == 3_000_000_000)
        #expect(track.shownDuration == 6_000_000_000)
    }

    @Test func `A creation time after the year 2040 is written in a box of version 1`() throws {
        let moov = MovieBox.closed(layout(timescale: 1000, creationTime: 1 << 33), [1: table(ticks: 1000)])
        #expect(try versions(moov) == [1, 1, 0, 1])
        #expect(try read(moov, media: 10).layout.creationTime == 1 << 33)
    }

    // `Int64(seconds * 1000)` used to trap at 9e15 milliseconds, at every start while the file existed.
    @Test func `A gap of years in a damaged file is reported as a problem, without a crash`() throws {
        let layout = layout(timescale: 1)
        var table = SampleTable()
        var time: Int64 = 0
        for _ in 0..<4_400_000 {
            let sample = SampleEntry(
                decodeTime: time, duration: 1 << 31, compositionOffset: 0, size: 1, isSync: true)
            table.append([sample], at: UInt64(48 + table.count))
            time += 1 << 31
        }
        let late = SampleEntry(
            decodeTime: time + 1 << 31, duration: 1, compositionOffset: 0, size: 1, isSync: true)
        table.append([late], at: UInt64(48 + table.count))
        let check = TrackCheck(
            layout: layout, track: layout.tracks[0], table: table, isClosed: false, endsSuddenly: false)
        let problems = check.problems(media: 0..<5_000_000)
        #expect(problems.contains("the video: 1 samples are missing 9448928051200000000 ms into the file"))
    }
}
