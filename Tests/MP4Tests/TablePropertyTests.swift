// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

/// SplitMix64 (Steele, Lea and Flood, 2014), so that each run tests the same cases.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// True in one of `count` cases.
    mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes.append(UInt8.random(in: 0...255, using: &self)) }
        return bytes
    }

    /// `bytes` with one bit flipped.
    mutating func flipped(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        guard let place = bytes.indices.randomElement(using: &self) else { return bytes }
        bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
        return bytes
    }
}

/// Boxes and numbers, written independently of the module's writer.
enum PlainBox {
    static func u32(_ value: Int64) -> [UInt8] { number(value, bytes: 4) }

    static func number(_ value: Int64, bytes: Int64) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
    }

    static func box(_ type: String, _ body: [UInt8]) -> [UInt8] { u32(Int64(body.count + 8)) + Array(type.utf8) + body }

    static func full(_ type: String, version: Int64 = 0, flags: Int64 = 0, _ body: [UInt8]) -> [UInt8] {
        box(type, u32(version << 24 | flags) + body)
    }
}

/// One sample, with all of its table values.
struct PlainSample: Equatable {
    var time: Int64
    var duration: Int64
    /// The composition offset.
    var later: Int64 = 0
    var size: Int64
    var isSync = true
    /// The offset in the file.
    var place: Int64 = 0

    /// The module's form of the sample.
    var entry: SampleEntry {
        SampleEntry(
            decodeTime: time, duration: UInt32(clamping: duration), compositionOffset: Int32(clamping: later),
            size: UInt32(clamping: size), isSync: isSync)
    }

    /// The samples of `table` one by one; nil if the lengths of its lists disagree.
    static func samples(_ table: SampleTable) -> [PlainSample]? {
        let durations = table.durations.runs.flatMap { [UInt32](repeating: $0.value, count: Int($0.count)) }
        let later = table.compositionOffsets.runs.flatMap { [Int32](repeating: $0.value, count: Int($0.count)) }
        let chunks = table.chunks.reduce(0) { $0 + Int($1.count) }
        guard [durations.count, later.count, chunks].allSatisfy({ $0 == table.count }) else { return nil }
        var (samples, time): ([PlainSample], Int64) = ([], table.start)
        for chunk in table.chunks {
            var place = Int64(chunk.offset)
            for _ in 0..<chunk.count {
                let (index, size) = (samples.count, Int64(table.sizes[samples.count]))
                samples.append(
                    PlainSample(
                        time: time, duration: Int64(durations[index]), later: Int64(later[index]), size: size,
                        isSync: false, place: place))
                time += Int64(durations[index])
                place += size
            }
        }
        for number in table.syncSamples {
            guard (1...samples.count).contains(Int(number)) else { return nil }
            samples[Int(number) - 1].isSync = true
        }
        return samples
    }
}

/// Writes `stbl` boxes like other writers, which group entries in any way.
enum TableWriter {
    /// Samples in chunks, some of which are empty; at least one sample in total.
    static func chunks(_ kind: TrackKind, using random: inout SplitMix64) -> [[PlainSample]] {
        var (time, place): (Int64, Int64) = (0, 48)
        let usual = Int64.random(in: 1...5000, using: &random)
        var chunks: [[PlainSample]] = []
        for number in 0..<Int.random(in: 1...9, using: &random) {
            if Bool.random(using: &random) { place += Int64.random(in: 0...1 << 40, using: &random) }
            var chunk: [PlainSample] = []
            for _ in 0..<Int.random(in: number == 0 ? 1...6 : 0...6, using: &random) {
                var sample = PlainSample(time: time, duration: usual, size: 0, place: place)
                if random.one(in: 4) { sample.duration = Int64.random(in: 0...1 << 31, using: &random) }
                sample.size = Int64.random(in: 0...70_000, using: &random)
                if kind == .video {
                    sample.isSync = random.one(in: 3)
                    if random.one(in: 3) { sample.later = Int64.random(in: -1 << 31...(1 << 31) - 1, using: &random) }
                }
                chunk.append(sample)
                time += sample.duration
                place += sample.size
            }
            chunks.append(chunk)
        }
        return chunks
    }

    static func stbl(_ chunks: [[PlainSample]], _ kind: TrackKind, using random: inout SplitMix64) -> [UInt8] {
        let samples = chunks.flatMap { $0 }
        var groups: [[UInt8]] = []
        for (index, chunk) in chunks.enumerated() {
            // Now and then an entry repeats the previous one.
            guard index == 0 || chunk.count != chunks[index - 1].count || Bool.random(using: &random) else { continue }
            groups.append(PlainBox.u32(Int64(index) + 1) + PlainBox.u32(Int64(chunk.count)) + PlainBox.u32(1))
        }
        var boxes = [
            PlainBox.full("stts", runs(samples.map(\.duration), using: &random)),
            PlainBox.full("stsz", PlainBox.u32(0) + counted(samples.map { PlainBox.u32($0.size) })),
            PlainBox.full("co64", counted(chunks.map { PlainBox.number($0.first?.place ?? 7, bytes: 8) })),
            PlainBox.full("stsc", counted(groups)),
            PlainBox.box("stsd", PlainBox.u32(0) + PlainBox.u32(1)),
        ]
        if kind == .video {
            let syncs = samples.indices.filter { samples[$0].isSync }
            boxes.append(PlainBox.full("ctts", version: 1, runs(samples.map(\.later), using: &random)))
            boxes.append(PlainBox.full("stss", counted(syncs.map { PlainBox.u32(Int64($0) + 1) })))
        }
        return boxes.shuffled(using: &random).flatMap { $0 }
    }

    private static func counted(_ entries: [[UInt8]]) -> [UInt8] {
        PlainBox.u32(Int64(entries.count)) + entries.flatMap { $0 }
    }

    /// Run-length entries; equal values may be split over several entries, and some entries have no samples.
    private static func runs(_ values: [Int64], using random: inout SplitMix64) -> [UInt8] {
        var (entries, rest): ([[UInt8]], ArraySlice<Int64>) = ([], values[...])
        while let value = rest.first {
            if random.one(in: 6) { entries.append(PlainBox.u32(0) + PlainBox.u32(99)) }
            let equal = rest.prefix(while: { $0 == value }).count
            let count = Int.random(in: 1...equal, using: &random)
            entries.append(PlainBox.u32(Int64(count)) + PlainBox.u32(value))
            rest = rest.dropFirst(count)
        }
        return counted(entries)
    }
}

/// Sample tables of other writers: complete, truncated and damaged.
@Suite("Random sample tables of MP4 files")
struct TablePropertyTests {
    @Test(arguments: UInt64(1)...6)
    func `Sample tables are expanded to their samples, however the entries are grouped`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for turn in 0..<40 {
            let kind: TrackKind = turn % 2 == 0 ? .video : .audio
            let chunks = TableWriter.chunks(kind, using: &random)
            let samples = chunks.flatMap { $0 }
            let stbl = TableWriter.stbl(chunks, kind, using: &random)
            let table = try SampleTableReader.table(BoxReader(stbl[...]), kind: kind)
            #expect(PlainSample.samples(table) == samples)
            let ends = samples.map { $0.time + $0.later + $0.duration }
            #expect(table.presentationEnd == max(0, ends.max() ?? 0))
            #expect(table.duration == samples.reduce(0) { $0 + $1.duration })
            #expect(table.presentationTimes == samples.map { $0.time + $0.later })
            let trak = PlainBox.box("trak", PlainBox.box("mdia", PlainBox.box("minf", PlainBox.box("stbl", stbl))))
            let orders = try CompositionOrder.read(MemorySource(bytes: PlainBox.box("moov", trak + trak)))
            #expect(orders.map(\.count) == [samples.count, samples.count] && orders.allSatisfy { $0.codings == 1 })
            #expect(orders.allSatisfy { $0.offsets.map { Int64($0) } == (kind == .video ? samples.map(\.later) : []) })
        }
    }

    @Test(arguments: UInt64(1)...6)
    func `Truncated or damaged sample tables are refused, or give consistent samples`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<10 {
            let stbl = TableWriter.stbl(TableWriter.chunks(.video, using: &random), .video, using: &random)
            let cut = stbl.indices.filter { end in
                (try? SampleTableReader.table(BoxReader(stbl[..<end]), kind: .video)) != nil
            }
            // Offsets and the coding are optional, so a truncated table may end before them.
            #expect(cut.count <= 2)
            for _ in 0..<100 {
                let damaged = random.flipped(stbl)
                if let table = try? SampleTableReader.table(BoxReader(damaged[...]), kind: .video) {
                    let samples = PlainSample.samples(table)
                    #expect(samples != nil && table.count * 4 <= damaged.count)
                    #expect(samples?.allSatisfy { (0...1 << 61).contains($0.place) } == true)
                }
                let movie = PlainBox.box("minf", PlainBox.box("stbl", damaged))
                let file = PlainBox.box("moov", PlainBox.box("trak", PlainBox.box("mdia", movie)))
                let orders = (try? CompositionOrder.read(MemorySource(bytes: file))) ?? []
                #expect(orders.allSatisfy { $0.offsets.isEmpty || $0.offsets.count == $0.count })
            }
        }
    }

    @Test func `A small file cannot make the reader allocate memory for days of frames`() {
        let ctts = PlainBox.full("ctts", PlainBox.u32(1) + PlainBox.u32(1 << 25) + PlainBox.u32(5))
        let stbl = PlainBox.box("stbl", ctts + PlainBox.full("stsz", PlainBox.u32(9) + PlainBox.u32(1 << 25)))
        let trak = PlainBox.box("trak", PlainBox.box("mdia", PlainBox.box("minf", stbl)))
        let orders = (try? CompositionOrder.read(MemorySource(bytes: PlainBox.box("moov", trak + trak)))) ?? []
        #expect(orders.reduce(0) { $0 + $1.offsets.count } <= 1 << 25)
    }
}
