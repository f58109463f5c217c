// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

/// Fragmented clips, read by the readers of recordings, and fragments that no recorder writes.
@Suite("Random clips in fragmented MP4 files")
struct FragmentedClipPropertyTests {
    /// Samples whose bytes are appended to `media`, some after other bytes.
    private static func track(
        _ kind: TrackKind, count: Int, in media: inout [UInt8], using random: inout SplitMix64
    ) -> ClipTrack {
        var (samples, time): ([IndexedSample], Int64) = ([], Int64.random(in: 0...5000, using: &random))
        for index in 0..<count {
            if random.one(in: 3) { media += random.bytes(5) }
            let size = Int.random(in: 1...20, using: &random)
            let duration = random.one(in: 9) ? Int64.random(in: 1...20_000, using: &random) : 500
            let later = kind == .video ? Int64.random(in: 0...1000, using: &random) : 0
            let sample = IndexedSample(
                dts: time, pts: time + later, duration: duration, offset: Int64(media.count), size: Int64(size),
                isSync: kind == .audio || index == 0 || random.one(in: 8))
            samples.append(sample)
            media += random.bytes(size)
            time += duration
        }
        return ClipTrack(samples: samples, start: samples.first?.dts ?? 0)
    }

    private static func file(_ movie: ClipMovie, _ video: ClipTrack, _ audio: ClipTrack, _ media: [UInt8]) -> [UInt8] {
        var clip = FragmentedClip(movie, video: video, audio: audio)
        var bytes = clip.head
        while let piece = clip.next(at: Int64(bytes.count)) {
            bytes += piece.header
            for part in piece.payload { bytes += media[Int(part.lowerBound)..<Int(part.upperBound)] }
        }
        return bytes
    }

    private static func read(_ source: some ByteSource) throws -> FragmentedFile? {
        guard case .open(let file) = try FragmentedFileReader(source).read() else { return nil }
        return file
    }

    @Test(arguments: UInt64(1)...6)
    func `A fragmented clip contains each sample once, with its times and bytes`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for turn in 1..<20 {
            var media: [UInt8] = []
            let video = Self.track(.video, count: 4 * turn, in: &media, using: &random)
            let audio = Self.track(.audio, count: 5 * turn, in: &media, using: &random)
            let layout = MovieLayout(timescale: 48_000, creationTime: 0, tracks: Film.tracks, userData: [])
            let movie = ClipMovie(video: video, audio: audio, layout: layout)
            let bytes = Self.file(movie, video, audio, media)
            let file = try #require(try Self.read(MemorySource(bytes: bytes)))
            #expect(file.mediaEnd == Int64(bytes.count) && file.skippedBytes == 0)
            for (id, track) in [(UInt32(1), video), (2, audio)] {
                let table = try #require(file.tables[id])
                let copies = PlainSample.samples(table) ?? []
                try #require(copies.count == track.samples.count)
                for (copy, sample) in zip(copies, track.samples) {
                    #expect(copy.time == sample.dts - track.samples[0].dts && copy.duration == sample.duration)
                    #expect(copy.later == sample.pts - sample.dts && copy.isSync == sample.isSync)
                    let (place, original) = (Int(copy.place), Int(sample.offset))
                    let size = Int(sample.size)
                    try #require(copy.size == sample.size && place + size <= bytes.count)
                    #expect(bytes[place..<place + size] == media[original..<original + size])
                }
            }
        }
    }

    @Test(
        arguments: [
            // A pause of more than 2^32 ticks, or 13 hours, which exceeds the range of a table.
            [[0], [(1 << 32) + 9000]],
            // Two runs of one track in one fragment, the second earlier than the first, or within it.
            [[9000, 0]], [[0, 2000]],
        ] as [[[Int64]]])
    func `Samples whose decoding times exceed a sample table's range are refused, or have the right total duration`(
        fragments: [[Int64]]
    ) throws {
        var bytes = Film.head
        for (number, times) in fragments.enumerated() {
            let runs = times.map { time in
                Fragment.Run(
                    track: Film.tracks[0],
                    samples: [time, time + 3000].map { PlainSample(time: $0, duration: 3000, size: 4).entry })
            }
            bytes += Fragment(sequence: UInt32(number + 1), runs: runs).encode().header
            bytes += [UInt8](repeating: 1, count: 8 * runs.count)
        }
        let file = try #require(try Self.read(MemorySource(bytes: bytes)))
        let table = file.tables[1] ?? SampleTable()
        let durations = table.durations.runs.reduce(Int64(0)) { $0 + Int64($1.count) * Int64($1.value) }
        #expect(table.duration == durations)
    }

    @Test func `False fragment headers do not make the reader read more than 20 times the size of the file`() throws {
        // Each false header begins a box that ends directly before the same complete media.
        let count: Int64 = 2000
        var bytes = Film.head
        for number in 0..<count { bytes += PlainBox.u32(8 * (count - number)) + Array("moof".utf8) }
        bytes += PlainBox.box("mdat", [1, 2, 3])
        let source = CountingSource(bytes)
        let file = try #require(try Self.read(source))
        #expect(file.fragments == 0)
        #expect(source.count <= 20 * bytes.count)
    }
}
