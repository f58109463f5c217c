// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

/// The `moov` of closed files: complete, truncated and damaged.
@Suite("Random MP4 files that are closed")
struct MoviePropertyTests {
    /// A layout as relay writes it, with tables of `count` regular samples for both tracks.
    private static func movie(
        count: Int64, using random: inout SplitMix64
    ) -> (layout: MovieLayout, tables: [UInt32: SampleTable]) {
        let description = StreamDescription(
            video: TrackDescription(
                format: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25)),
                decoderConfiguration: SharedBytes([1, 100, 0, 31, 255, 224, 0]), bitrate: 500_000, reorderDepth: 0,
                encoderSettings: ""),
            audio: TrackDescription(
                format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024))
        var layout = MovieLayout(description: description, creationTime: 9, userData: [])
        layout.tracks[0].emptyEdit = Int64.random(in: 0...900, using: &random)
        layout.tracks[1].mediaTime = Int64.random(in: 0...900, using: &random)
        var tables: [UInt32: SampleTable] = [:]
        for track in layout.tracks {
            let (isVideo, duration): (Bool, Int64) = track.kind == .video ? (true, 400) : (false, 1024)
            var table = SampleTable()
            for index in 0..<count {
                let sample = PlainSample(
                    time: index * duration, duration: duration, later: isVideo ? index % 3 * 400 : 0,
                    size: Int64.random(in: 1...99, using: &random), isSync: !isVideo || index % 4 == 0)
                table.append([sample.entry], at: UInt64(48 + 200 * index + (isVideo ? 0 : 100)))
            }
            tables[track.id] = table
        }
        return (layout, tables)
    }

    /// A closed file with this `moov` and a little media.
    private static func file(_ moov: [UInt8]) -> [UInt8] {
        MovieBox.closedHead(mediaEnd: 64) + [UInt8](repeating: 1, count: 16) + moov
    }

    /// The file in `bytes`; nil if the reader refuses it with the right error.
    private static func read(_ bytes: [UInt8]) throws -> MovieFile? {
        do {
            return try MovieFile.read(MemorySource(bytes: bytes))
        } catch is MP4Failure {
            return nil
        }
    }

    /// A file of more than 12 hours at 96 kHz, with one flipped bit in its edit list that makes the duration negative.
    private static func negativeEdit() -> [UInt8] {
        let track = MovieLayout.Track(
            id: 1, kind: .video, timescale: 96_000, sampleDescription: PlainBox.box("stsd", []))
        let layout = MovieLayout(timescale: 96_000, creationTime: 0, tracks: [track], userData: [])
        var table = SampleTable()
        for index in 0..<Int64(2) {
            let sample = PlainSample(time: index << 31, duration: 1 << 31, size: 10)
            table.append([sample.entry], at: UInt64(48 + 10 * index))
        }
        var moov = MovieBox.closed(layout, [1: table])
        if let place = BoxReader.positions(of: Array("elst".utf8), in: moov).first { moov[place + 12] = 0xFF }
        return file(moov)
    }

    /// A track with random edits and samples at random offsets.
    private static func track(
        _ id: UInt32, _ kind: TrackKind, using random: inout SplitMix64
    ) -> (layout: MovieLayout.Track, chunks: [[PlainSample]]) {
        var track = MovieLayout.Track(
            id: id, kind: kind, timescale: UInt32.random(in: 1000...90_000, using: &random),
            sampleDescription: PlainBox.box("stsd", random.bytes(9)))
        track.emptyEdit = max(0, Int64.random(in: -900...900, using: &random))
        track.mediaTime = Int64.random(in: 0...1 << 33, using: &random)
        return (track, TableWriter.chunks(kind, using: &random).filter { !$0.isEmpty })
    }

    @Test(arguments: UInt64(1)...6)
    func `A closed MP4 file is read back with its tracks, edits and samples`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<40 {
            let tracks = [Self.track(7, .video, using: &random), Self.track(4, .audio, using: &random)]
            var tables: [UInt32: SampleTable] = [:]
            for track in tracks {
                var table = SampleTable()
                for chunk in track.chunks { table.append(chunk.map(\.entry), at: UInt64(chunk[0].place)) }
                tables[track.layout.id] = table
            }
            let layout = MovieLayout(
                timescale: UInt32.random(in: 1000...90_000, using: &random),
                creationTime: UInt64.random(in: 0...1 << 34, using: &random), tracks: tracks.map(\.layout),
                userData: [])
            let file = try #require(try Self.read(Self.file(MovieBox.closed(layout, tables))))
            #expect(file.isClosed && file.layout.creationTime == layout.creationTime)
            #expect(file.layout.timescale == layout.timescale && file.layout.tracks.count == 2)
            for (found, (track, chunks)) in zip(file.layout.tracks, tracks) {
                #expect(found.id == track.id && found.kind == track.kind && found.timescale == track.timescale)
                #expect(found.emptyEdit == track.emptyEdit && found.mediaTime == track.mediaTime)
                #expect(found.sampleDescription == track.sampleDescription)
                let table = try #require(file.tables[track.id])
                #expect(PlainSample.samples(table) == chunks.flatMap { $0 })
                let ticks = Int128(max(0, table.presentationEnd - track.mediaTime)) * Int128(layout.timescale)
                let scale = Int128(track.timescale)
                #expect(Int128(found.shownDuration) == (ticks + scale - 1) / scale)
            }
        }
    }

    @Test func `A closed MP4 file that is truncated anywhere is refused`() throws {
        var random = SplitMix64(seed: 3)
        let movie = Self.movie(count: 5, using: &random)
        let whole = Self.file(MovieBox.closed(movie.layout, movie.tables))
        #expect(try Self.read(whole) != nil)
        for end in whole.indices {
            let found = try Self.read(Array(whole[..<end]))
            #expect(found == nil, "\(end) of \(whole.count) bytes")
        }
    }

    @Test(arguments: UInt64(1)...4)
    func `A damaged closed MP4 file is refused, or is read within bounds and written again with the same tables`(
        seed: UInt64
    ) throws {
        var random = SplitMix64(seed: seed)
        let movie = Self.movie(count: 6, using: &random)
        let whole = Self.file(MovieBox.closed(movie.layout, movie.tables))
        for _ in 0..<600 {
            guard let file = try Self.read(random.flipped(whole)) else { continue }
            try Self.expectBounds(file)
            guard file.tables.values.allSatisfy({ !$0.isEmpty }) else { continue }
            let again = try #require(try Self.read(Self.file(MovieBox.closed(file.layout, file.tables))))
            #expect(Set(again.tables.keys) == Set(file.tables.keys))
            for (id, table) in file.tables {
                let samples = again.tables[id].flatMap { PlainSample.samples($0) }
                #expect(samples == PlainSample.samples(table))
            }
        }
    }

    /// Checks what the readers' doc comments promise for every file that they accept.
    private static func expectBounds(_ file: MovieFile) throws {
        let ids = file.layout.tracks.map(\.id)
        #expect((1...2).contains(ids.count) && Set(ids).count == ids.count && !ids.contains(0))
        for track in file.layout.tracks {
            let table = try #require(file.tables[track.id])
            #expect(track.timescale > 0 && track.emptyEdit >= 0 && track.mediaTime >= 0)
            // Another test covers negative durations.
            for isTrimmed in [false, track.shownDuration >= 0] {
                let check = TrackCheck(
                    layout: file.layout, track: track, table: table, isClosed: true, endsSuddenly: false,
                    isTrimmed: isTrimmed)
                let facts = check.facts
                #expect(facts.sampleDuration >= 1 && (0...table.count).contains(facts.samples))
                #expect(facts.shown >= 0 && facts.lastSample >= 0 && facts.offset >= 0 && facts.whole <= facts.shown)
                _ = check.problems(media: 48..<1 << 40)
                guard let samples = (try? IndexedTrack(track, table, facts))?.samples else { continue }
                let limit = facts.timescale * TrackFacts.longestTime
                #expect(samples.count == table.count && samples.allSatisfy { $0.pts.magnitude <= limit })
                #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.dts <= $1.dts })
            }
        }
        let shown = MovieBox.shown(file.layout, file.tables)
        #expect(shown.frames >= 0 && shown.audioSamples >= 0)
    }

    @Test func `A trimmed file with a negative edit duration is refused, or verified without a crash`() async {
        await #expect(processExitsWith: .success) {
            guard let file = try MoviePropertyTests.read(MoviePropertyTests.negativeEdit()) else { return }
            let track = file.layout.tracks[0]
            let table = try #require(file.tables[1])
            _ = TrackCheck(
                layout: file.layout, track: track, table: table, isClosed: true, endsSuddenly: false, isTrimmed: true)
        }
    }

    /// A format with any size, pixel aspect ratio and color that a file can contain.
    private static func frames(using random: inout SplitMix64) -> FrameFormat {
        var numbers: [Int32] = []
        for _ in 0..<4 { numbers.append(Int32.random(in: 1...65_535, using: &random)) }
        let (color, isFullRange) = (random.bytes(3), Bool.random(using: &random))
        return FrameFormat(
            width: Int(numbers[0]), height: Int(numbers[1]),
            sampleAspectRatio: SampleAspectRatio(numbers[2], numbers[3]),
            color: ColorDescription(
                primaries: color[0], transfer: color[1], matrix: color[2], isFullRange: isFullRange))
    }

    @Test(arguments: UInt64(1)...4)
    func `A video track's format is read back as written, refused if truncated, and within bounds if damaged`(
        seed: UInt64
    ) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<20 {
            let codec = [Codec.h264, .hevc, .av1].randomElement(using: &random) ?? .h264
            let frames = Self.frames(using: &random)
            let configuration = random.bytes(Int.random(in: 5...40, using: &random))
            let written = TrackDescription(
                video: codec, frames: frames, timeBase: TimeBase(1, 25),
                decoderConfiguration: SharedBytes(configuration))
            var track = MovieLayout(
                description: StreamDescription(video: written), creationTime: 0, userData: []
            ).tracks[0]
            let (stsd, found) = (track.sampleDescription, try track.video())
            #expect(found.codec == codec && found.frameFormat == frames)
            #expect(found.decoderConfiguration.array == configuration && found.timeBase == TimeBase(1, 10_000))
            let length = try? SampleDescription.lengthSize(stsd)
            #expect(length == (codec == .h264 ? Int(configuration[4] % 4) + 1 : nil))
            for end in stsd.indices {
                track.sampleDescription = Array(stsd[..<end])
                let cut = try? track.video()
                #expect(cut == nil)
            }
            for _ in 0..<100 {
                track.sampleDescription = random.flipped(stsd)
                let length = try? SampleDescription.lengthSize(track.sampleDescription)
                #expect((1...4).contains(length ?? 1))
                guard let frames = (try? track.video())?.frameFormat else { continue }
                let numbers = [
                    frames.width, frames.height, Int(frames.sampleAspectRatio.horizontal),
                    Int(frames.sampleAspectRatio.vertical),
                ]
                #expect(numbers.allSatisfy { (1...65_535).contains($0) })
            }
        }
    }
}
