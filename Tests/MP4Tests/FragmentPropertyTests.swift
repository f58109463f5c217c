// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

/// A `traf` box of another writer with any of the supported fields, and its content.
private struct PlainRun {
    /// The fields that are present.
    private struct Fields {
        let usual: Int64?
        let hasDurations: Bool
        let hasLater: Bool
        /// Flags of the first sample, if it has its own.
        let first: Int64?
        let hasFlags: Bool

        init(using random: inout SplitMix64) {
            usual = Bool.random(using: &random) ? Int64.random(in: 0...1 << 31, using: &random) : nil
            let isNeeded = usual == nil
            hasDurations = isNeeded || Bool.random(using: &random)
            hasLater = Bool.random(using: &random)
            first = random.one(in: 3) ? Int64.random(in: 0..<1 << 32, using: &random) : nil
            hasFlags = first == nil ? Bool.random(using: &random) : false
        }

        /// The flags of `trun` (ISO/IEC 14496-12, 8.8.8).
        var flags: Int64 {
            var flags: Int64 = 0x201
            if hasDurations { flags |= 0x100 }
            if first != nil { flags |= 0x4 }
            if hasFlags { flags |= 0x400 }
            if hasLater { flags |= 0x800 }
            return flags
        }
    }

    private(set) var bytes: [UInt8] = []
    private(set) var samples: [PlainSample] = []
    let offset: Int64

    init(_ track: MovieLayout.Track, using random: inout SplitMix64) {
        let fields = Fields(using: &random)
        offset = Int64.random(in: -1 << 31...(1 << 31) - 1, using: &random)
        let latest: Int64 = Bool.random(using: &random) ? (1 << 32) - 1 : 1 << 60
        let time = Int64.random(in: 0...latest, using: &random)
        let isLong = time >= 1 << 32 || Bool.random(using: &random)
        let count = Int64.random(in: 1...12, using: &random)
        var body = PlainBox.u32(count) + PlainBox.u32(offset)
        if let first = fields.first { body += PlainBox.u32(first) }
        for index in 0..<count {
            let start = samples.last.map { $0.time + $0.duration } ?? time
            var sample = PlainSample(time: start, duration: fields.usual ?? 0, size: 0)
            // By default a frame depends on other frames.
            var flags: Int64 = track.kind == .video ? 0x10000 : 0
            if index == 0, let first = fields.first { flags = first }
            body += Self.write(&sample, &flags, fields, using: &random)
            sample.isSync = flags & 0x10000 == 0
            samples.append(sample)
        }
        var head = PlainBox.u32(Int64(track.id))
        if let usual = fields.usual { head += PlainBox.u32(usual) }
        let boxes = [
            PlainBox.full("tfhd", flags: fields.usual == nil ? 0x20000 : 0x20008, head),
            PlainBox.full("tfdt", version: isLong ? 1 : 0, PlainBox.number(time, bytes: isLong ? 8 : 4)),
            PlainBox.full("trun", version: 1, flags: fields.flags, body),
        ]
        bytes = boxes.shuffled(using: &random).flatMap { $0 }
    }

    /// Fills in the fields that are present, and returns the samples.
    private static func write(
        _ sample: inout PlainSample, _ flags: inout Int64, _ fields: Fields, using random: inout SplitMix64
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        if fields.hasDurations {
            sample.duration = Int64.random(in: 0...1 << 31, using: &random)
            bytes += PlainBox.u32(sample.duration)
        }
        sample.size = Int64.random(in: 0..<1 << 32, using: &random)
        bytes += PlainBox.u32(sample.size)
        if fields.hasFlags {
            flags = Int64.random(in: 0..<1 << 32, using: &random)
            bytes += PlainBox.u32(flags)
        }
        if fields.hasLater {
            sample.later = Int64.random(in: -1 << 31...(1 << 31) - 1, using: &random)
            bytes += PlainBox.u32(sample.later)
        }
        return bytes
    }
}

/// Fragments: complete, truncated and damaged.
@Suite("Random fragments of MP4 files")
struct FragmentPropertyTests {
    private static func read(_ source: some ByteSource) throws -> FragmentedFile? {
        guard case .open(let file) = try FragmentedFileReader(source).read() else { return nil }
        return file
    }

    @Test(arguments: UInt64(1)...6)
    func `A track run is read back as written, refused if truncated, and read within bounds if damaged`(
        seed: UInt64
    ) throws {
        var random = SplitMix64(seed: seed)
        for turn in 0..<40 {
            let track = Film.tracks[turn % 2]
            let written = PlainRun(track, using: &random)
            let (id, run) = try FragmentReader.run(BoxReader(written.bytes[...]), tracks: Film.tracks)
            let found = run.samples.map { sample in
                PlainSample(
                    time: sample.decodeTime, duration: Int64(sample.duration), later: Int64(sample.compositionOffset),
                    size: Int64(sample.size), isSync: sample.isSync)
            }
            #expect(id == track.id && run.offset == written.offset && found == written.samples)
            let cut = written.bytes.indices.filter { end in
                (try? FragmentReader.run(BoxReader(written.bytes[..<end]), tracks: Film.tracks)) != nil
            }
            #expect(cut.isEmpty)
            for _ in 0..<100 {
                let damaged = random.flipped(written.bytes)
                let found = try? FragmentReader.run(BoxReader(damaged[...]), tracks: Film.tracks)
                guard let samples = found?.run.samples else { continue }
                #expect(!samples.isEmpty && samples.count * 4 <= damaged.count)
                let times = samples.map(\.decodeTime)
                #expect((0...1 << 60).contains(times[0]) && zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
            }
        }
    }

    @Test(arguments: UInt64(1)...6)
    func `Fragments are found with all of their samples, even after unknown bytes`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for turn in 0..<30 {
            let film = Film(fragments: 1 + turn % 7, junk: turn % 2 * 40, using: &random)
            let source = CountingSource(film.bytes)
            let file = try #require(try Self.read(source))
            #expect(file.fragments == film.fragments.count && file.skippedBytes == film.skipped)
            #expect(file.mediaEnd == film.fragments.last?.upperBound && file.frames == film.samples[1]?.count)
            #expect(file.tables.compactMapValues { PlainSample.samples($0) } == film.samples)
            #expect(source.isFair && source.count <= 10 * film.bytes.count)
            guard film.skipped == 0 else { continue }
            let map = try FragmentMap(MemorySource(bytes: film.bytes))
            #expect(map.fragments.map(\.bytes) == film.fragments && map.initialisation == Film.head)
            let frames = film.samples[1] ?? []
            let keyframes = film.fragments.map { bytes -> Range<Int64>? in
                let first = frames.first { $0.isSync && bytes.contains($0.place) }
                return first.map { $0.place..<$0.place + $0.size }
            }
            #expect(map.fragments.map { $0.keyframe?.bytes } == keyframes && map.frames == file.frames)
        }
    }

    @Test func `A fragment is found even if it spans two of the blocks in which a file is searched`() throws {
        var random = SplitMix64(seed: 7)
        let fragment = Film(fragments: 1, using: &random).bytes[Film.head.count...]
        for count in (1 << 20) - 4...(1 << 20) + 8 {
            let file = try Self.read(
                MemorySource(bytes: Film.head + [UInt8](repeating: 0x6D, count: count) + Array(fragment)))
            #expect(file?.fragments == 1 && file?.skippedBytes == Int64(count))
        }
    }

    @Test(arguments: UInt64(1)...3)
    func `A file that is truncated anywhere yields its complete fragments`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let film = Film(fragments: 4, using: &random)
        for end in film.bytes.indices {
            let source = MemorySource(bytes: Array(film.bytes[..<end]))
            guard end >= Film.head.count else {
                #expect(throws: MP4Failure.self) { try Self.read(source) }
                continue
            }
            let whole = film.fragments.filter { $0.upperBound <= Int64(end) }
            let (file, map) = (try Self.read(source), try FragmentMap(source))
            #expect(file?.fragments == whole.count && file?.skippedBytes == 0)
            #expect(file?.mediaEnd == whole.last?.upperBound ?? Int64(Film.head.count))
            #expect(map.fragments.map(\.bytes) == whole && map.end == file?.mediaEnd)
        }
    }

    @Test(arguments: UInt64(1)...4)
    func `A damaged file is refused or yields only samples within the file, and at most ten times its size is read`(
        seed: UInt64
    ) throws {
        var random = SplitMix64(seed: seed)
        let film = Film(fragments: 6, junk: 9, using: &random)
        for _ in 0..<500 {
            let bytes = random.flipped(film.bytes)
            let (source, size) = (CountingSource(bytes), Int64(bytes.count))
            if let file = try? Self.read(source) {
                #expect(file.mediaEnd <= size && (0...file.mediaEnd).contains(file.skippedBytes))
                for table in file.tables.values {
                    let samples = try #require(PlainSample.samples(table))
                    #expect(samples.allSatisfy { $0.place > 0 && $0.place + $0.size <= file.mediaEnd })
                }
            }
            #expect(source.isFair && source.count <= 10 * bytes.count)
            guard let map = try? FragmentMap(MemorySource(bytes: bytes)) else { continue }
            let year = TrackFacts.longestTime * 1_000_000_000
            #expect(map.end <= size && (0...2 * year).contains(map.duration))
            for fragment in map.fragments {
                let isInside = fragment.keyframe.map { $0.bytes.clamped(to: fragment.bytes) == $0.bytes } ?? true
                #expect(
                    isInside && (0...year).contains(fragment.start.nanoseconds)
                        && (0...year).contains(fragment.duration))
            }
        }
    }
}
