// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import LibAV

/// A number as a bitstream codes it.
private enum BitCode {
    case bits(UInt64, Int)
    case golomb(UInt64)
    case signed(Int64)

    /// Any number that a reader must support: Exp-Golomb codes have at most 31 leading zeros.
    init(using random: inout SeededRandom) {
        let count = Int64.random(in: 1...32, using: &random)
        switch Int.random(in: 0...2, using: &random) {
        case 0: self = .bits(UInt64.random(in: 0..<1 << UInt64(count), using: &random), Int(count))
        case 1: self = .golomb(UInt64.random(in: 0...(1 << UInt64(count)) - 2, using: &random))
        default:
            let limit: Int64 = (1 << (count - 1)) - 1
            self = .signed(Int64.random(in: -limit...limit, using: &random))
        }
    }

    var value: Int64 {
        switch self {
        case .bits(let value, _), .golomb(let value): Int64(value)
        case .signed(let value): value
        }
    }

    func write(to writer: inout BitWriter) {
        switch self {
        case .bits(let value, let count): writer.bits(value, count)
        case .golomb(let value): writer.golomb(value)
        case .signed(let value): writer.signed(value)
        }
    }

    func read(from reader: inout BitReader) -> Int64 {
        switch self {
        case .bits(_, let count): Int64(reader.bits(count))
        case .golomb: Int64(reader.golomb())
        case .signed: Int64(reader.signedGolomb())
        }
    }
}

/// Numbers in bits, parameter sets and configuration records: complete, truncated and damaged.
@Suite("Random parameter sets")
struct ParameterSetPropertyTests {
    private static func read(_ unit: [UInt8], _ codec: Codec) -> SequenceParameters? {
        codec == .hevc ? SequenceParameters(hevc: unit[...]) : SequenceParameters(avc: unit[...])
    }

    /// A record of sets with arbitrary IDs.
    private static func record(sps: [[UInt8]], pps: [[UInt8]]) -> [UInt8] {
        let counted = { (sets: [[UInt8]]) -> [UInt8] in
            sets.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0 }
        }
        return [1, 66, 0, 31, 0xFF, 0xE0 | UInt8(sps.count)] + counted(sps) + [UInt8(pps.count)] + counted(pps)
    }

    @Test func `Bit fields are read back as they were written, and reads past the end return 0`() {
        var random = SeededRandom()
        for _ in 0..<150 {
            var (writer, codes): (BitWriter, [BitCode]) = (BitWriter(), [])
            for _ in 0..<30 {
                let code = BitCode(using: &random)
                code.write(to: &writer)
                codes.append(code)
            }
            let payload = writer.payload
            for end in [payload.count, Int.random(in: 0..<payload.count, using: &random)] {
                var reader = BitReader(UnitWriter.unit([0x67], Array(payload[..<end]))[...], header: 1)
                for code in codes {
                    let wasExhausted = reader.isExhausted
                    let found = code.read(from: &reader)
                    // A number that the end truncates has no defined value.
                    if wasExhausted || !reader.isExhausted { #expect(found == (wasExhausted ? 0 : code.value)) }
                }
                #expect(reader.isExhausted == (end * 8 < writer.count))
            }
        }
    }

    @Test(arguments: [Codec.h264, .hevc])
    func `An SPS is read back as written; a truncated one is refused, and a damaged one gives values within bounds`(
        codec: Codec
    ) {
        var random = SeededRandom("\(codec)")
        for number in 0..<200 {
            let written =
                codec == .hevc
                ? SequenceWriter.hevc(number % 16, using: &random) : SequenceWriter.avc(number % 32, using: &random)
            #expect(Self.read(written.unit, codec) == written.says)
            let cut = written.unit.indices.compactMap { Self.read(Array(written.unit[..<$0]), codec) }
            #expect(cut.allSatisfy { $0 == written.says } && cut.count < 3)
            for _ in 0..<10 {
                guard let found = Self.read(UnitWriter.flipped(written.unit, using: &random), codec) else { continue }
                let isSize = (1...16_384).contains(found.width) && (1...16_384).contains(found.height)
                let isDepth = (8...16).contains(found.lumaDepth) && (8...16).contains(found.chromaDepth)
                #expect(isSize && isDepth && found.chroma < 4, "\(found)")
            }
        }
    }

    @Test(arguments: [Codec.h264, .hevc])
    func `A configuration record has all parameter sets of the stream; a truncated record gives its complete sets`(
        codec: Codec
    ) {
        var random = SeededRandom("\(codec)")
        for _ in 0..<60 {
            let written = WrittenSets(codec, using: &random)
            var reader = AnnexBReader(codec)
            let unit = reader.read(written.all.flatMap { set -> [UInt8] in [0, 0, 1] + set })
            #expect(unit == nil && reader.sets.configuration == written.record)
            #expect(reader.sets.size?.width == written.sequences[0].says.width)
            #expect(reader.sets.size?.height == written.sequences[0].says.height)
            for end in 0...written.record.count {
                let whole = written.ends.count { $0 <= end }
                let found = ConfigurationRecord.sets(Array(written.record[..<end]), codec)
                #expect(found == Array(written.all.prefix(whole)), "\(end) of \(written.record)")
            }
        }
    }

    @Test(arguments: [Codec.h264, .hevc])
    func `Parsing a damaged configuration record never crashes, and yields no more bytes than the record has`(
        codec: Codec
    ) {
        var random = SeededRandom("\(codec)")
        for _ in 0..<60 {
            let written = WrittenSets(codec, using: &random)
            let frame = UnitWriter.framed(written.all + [UnitWriter.header(5, codec) + [0x80]])
            for _ in 0..<20 {
                let record = UnitWriter.flipped(written.record, using: &random)
                let found = ConfigurationRecord.sets(record, codec)
                let bytes = found.reduce(0) { $0 + $1.count + 2 }
                #expect(found.allSatisfy { !$0.isEmpty } && bytes < record.count)
                let damaged = UnitWriter.flipped(frame, using: &random)
                if let sets = AVCParameterSets(record: record) {
                    #expect(sets.numbers.count <= sets.units.count)
                    _ = (sets.is8Bit420, sets.looks(at: damaged))
                }
                _ = HEVCParameterSets(record: record)?.looks(at: damaged)
            }
        }
    }

    @Test func `A damaged frame is left unchanged or gets its parameter sets inserted`() {
        var random = SeededRandom()
        for _ in 0..<40 {
            let written = WrittenSets(.h264, using: &random)
            let frame = UnitWriter.framed([[9, 16], [6] + UnitWriter.noise(9, using: &random), [0x65, 0x88, 0x80]])
            let sets = UnitWriter.framed(written.all)
            for _ in 0..<20 {
                let damaged = UnitWriter.flipped(frame, using: &random)
                let found = ConfigurationRecord.completed(SharedBytes(damaged), by: SharedBytes(written.record)).array
                let isCompleted = (0...damaged.count).contains { place in
                    Array(damaged[..<place]) + sets + Array(damaged[place...]) == found
                }
                #expect(found == damaged || isCompleted, "\(damaged)")
            }
        }
    }

    @Test
    func `A joined configuration record has the sets of both encoders, and recognizes which frames use them`() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            let written = (WrittenSets(.h264, using: &random), WrittenSets(.h264, from: 40, using: &random))
            let sets = try #require(AVCParameterSets(record: written.0.record))
            let others = try #require(AVCParameterSets(record: written.1.record))
            #expect(sets.units == written.0.all && sets.numbers == written.0.numbers)
            let isUsual = written.0.sequences.allSatisfy {
                $0.says.chroma == 1 && $0.says.lumaDepth == 8 && $0.says.chromaDepth == 8
            }
            #expect(sets.is8Bit420 == isUsual)
            let (record, heads) = (try #require(sets.joined(with: others)), [written.0.record, written.1.record])
            let joined = try #require(AVCParameterSets(record: record))
            #expect(joined.units == written.0.sps + written.1.sps + written.0.pps + written.1.pps)
            #expect(joined.numbers == written.0.numbers.union(written.1.numbers))
            #expect(heads.contains { $0[1] == record[1] } && record[2] == heads[0][2] & heads[1][2])
            #expect(record[3] == max(heads[0][3], heads[1][3]))
            let (isIDR, hasOther) = (Bool.random(using: &random), Bool.random(using: &random))
            let units = written.0.all + (hasOther ? written.1.pps : []) + [[isIDR ? 0x65 : 0x41, 0x80]]
            #expect(sets.looks(at: UnitWriter.framed(units)) == (isIDR, hasOther))
        }
    }

    @Test func `If a configuration record is truncated within a long set, no set after it is read`() {
        // A reader that continued would take bytes of the truncated set for IDs and lengths of the next set.
        let avc: [UInt8] = [1, 100, 0, 31, 0xFF, 0xE1, 1, 0, 0x67] + [UInt8](repeating: 7, count: 191)
        #expect(ConfigurationRecord.sets(avc, .h264).isEmpty)
        let head: [UInt8] = [1] + [UInt8](repeating: 0, count: 20) + [0x0F, 3, 0xA0, 0, 1, 2, 88]
        let hevc = head + [0x40, 1, 0] + [UInt8](repeating: 7, count: 400)
        #expect(ConfigurationRecord.sets(hevc, .hevc).isEmpty)
    }

    @Test func `An HEVC SPS with more sub-layers than the standard allows is refused`() {
        var random = SeededRandom()
        let written = SequenceWriter.hevc(0, subLayers: 7, using: &random)
        #expect(SequenceParameters(hevc: written.unit[...]) == nil)
    }

    @Test(arguments: [Codec.h264, .hevc])
    func `Thousands of PPSs with impossible IDs do not fill the memory, in one access unit or in many`(codec: Codec) {
        let units = (0..<600).map { number in
            var writer = BitWriter()
            writer.golomb(UInt64(number))
            return UnitWriter.unit(UnitWriter.header(codec == .hevc ? 34 : 8, codec), writer.payload)
        }
        var (reader, other) = (AnnexBReader(codec), AnnexBReader(codec))
        for unit in units { _ = reader.read([0, 0, 1] + unit) }
        _ = other.read(units.flatMap { [0, 0, 1] + $0 })
        let possible = codec == .hevc ? 64 : 256
        for sets in [reader.sets, other.sets] {
            #expect(units.map { sets.holds($0[...]) } == (0..<600).map { $0 < possible })
        }
    }

    @Test func `An access unit with too many SPSs yields no more of them than there are IDs`() {
        let units = (0..<100).map { UnitWriter.unit([0x67], [66, 0, 31, 0x80, UInt8($0) << 1 | 1]) }
        var reader = AnnexBReader(.h264)
        _ = reader.read(units.flatMap { [0, 0, 1] + $0 })
        #expect(units.count { reader.sets.holds($0[...]) } == 32)
    }

    @Test func `A configuration record full of repeated SPSs can be joined with another record`() throws {
        let full = Self.record(sps: [[UInt8]](repeating: [0x67, 66, 0, 31, 0x80], count: 31), pps: [[0x68, 0x80]])
        let own = Self.record(sps: [[0x67, 66, 0, 31, 0x40]], pps: [[0x68, 0x40]])
        let sets = try #require(AVCParameterSets(record: full))
        let others = try #require(AVCParameterSets(record: own))
        let found = Set(AVCParameterSets(record: try #require(sets.joined(with: others)))?.units ?? [])
        #expect(found.isSuperset(of: others.units))
    }

    @Test
    func `A configuration record full of repeated PPSs can be joined with another record without a crash`() async {
        await #expect(processExitsWith: .success) {
            let repeated = [[UInt8]](repeating: [0x68, 0x80], count: 255)
            let full = ParameterSetPropertyTests.record(sps: [[0x67, 66, 0, 31, 0x80]], pps: repeated)
            let own = ParameterSetPropertyTests.record(sps: [[0x67, 66, 0, 31, 0x40]], pps: [[0x68, 0x40]])
            let sets = try #require(AVCParameterSets(record: full))
            let others = try #require(AVCParameterSets(record: own))
            _ = sets.joined(with: others)
        }
    }
}
