// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport

@testable import LibAV

/// Writes numbers bit by bit, as the standards define them. The code is slow, but easy to verify.
struct BitWriter {
    /// The bits, first one first.
    private var written: [Bool] = []

    /// The number of bits.
    var count: Int { written.count }

    /// Appends the last `count` bits of `value`.
    mutating func bits(_ value: UInt64, _ count: Int) {
        for place in (0..<count).reversed() { written.append((value >> UInt64(place)) & 1 == 1) }
    }

    mutating func flag(_ value: Bool) { written.append(value) }

    /// Appends an unsigned Exp-Golomb code (ITU-T H.264, 9.1).
    mutating func golomb(_ value: UInt64) {
        let length = 64 - (value + 1).leadingZeroBitCount
        bits(0, length - 1)
        bits(value + 1, length)
    }

    /// Appends a signed Exp-Golomb code (9.1.1).
    mutating func signed(_ value: Int64) { golomb(UInt64(value > 0 ? 2 * value - 1 : -2 * value)) }

    /// The bits as bytes, padded with zeros.
    var bytes: [UInt8] { Self.packed(written) }
    /// The bits followed by a one, padded with zeros (`rbsp_trailing_bits`, 7.3.2.11).
    var payload: [UInt8] { Self.packed(written + [true]) }

    private static func packed(_ bits: [Bool]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (bits.count + 7) / 8)
        for (place, bit) in bits.enumerated() where bit { bytes[place / 8] |= 0x80 >> UInt8(place % 8) }
        return bytes
    }
}

/// An SPS and its content.
struct WrittenSequence {
    /// The NAL unit.
    let unit: [UInt8]
    let says: SequenceParameters
    /// Profile and level as in a configuration record: 3 bytes of H.264, 12 of HEVC.
    let profile: [UInt8]
}

/// Writes random SPSs that a decoder must support.
enum SequenceWriter {
    /// An H.264 SPS (7.3.2.1.1).
    static func avc(_ number: Int, using random: inout SeededRandom) -> WrittenSequence {
        var (writer, says) = (BitWriter(), SequenceParameters())
        let profile: [UInt8] = [
            [66, 77, 88, 100, 110, 122, 244].randomElement(using: &random) ?? 66,
            UInt8.random(in: 0...255, using: &random), UInt8.random(in: 10...62, using: &random),
        ]
        for byte in profile { writer.bits(UInt64(byte), 8) }
        writer.golomb(UInt64(number))
        if profile[0] >= 100 { writeFormats(&writer, &says, using: &random) }
        writer.golomb(UInt64.random(in: 0...12, using: &random))
        writeOrder(&writer, using: &random)
        writer.golomb(UInt64.random(in: 0...16, using: &random))
        writer.flag(Bool.random(using: &random))
        let columns = Int.random(in: 4...500, using: &random)
        let rows = Int.random(in: 4...250, using: &random)
        let fields = Bool.random(using: &random) ? 2 : 1
        writer.golomb(UInt64(columns - 1))
        writer.golomb(UInt64(rows - 1))
        writer.flag(fields == 1)
        if fields == 2 { writer.flag(Bool.random(using: &random)) }
        writer.flag(true)
        (says.width, says.height) = (columns * 16, rows * 16 * fields)
        writeCrop(&writer, &says, rows: fields, using: &random)
        writer.flag(false)
        return WrittenSequence(unit: UnitWriter.unit([0x67], writer.payload), says: says, profile: profile)
    }

    /// An HEVC SPS (ITU-T H.265, 7.3.2.2.1). `subLayers` is the number of sub-layers minus one; nil means a random
    /// number.
    static func hevc(
        _ number: Int, subLayers: UInt32? = nil, using random: inout SeededRandom
    ) -> WrittenSequence {
        var (writer, says) = (BitWriter(), SequenceParameters())
        says.subLayers = subLayers ?? UInt32.random(in: 0...6, using: &random)
        says.isNested = says.subLayers == 0 || Bool.random(using: &random)
        writer.bits(0, 4)
        writer.bits(UInt64(says.subLayers), 3)
        writer.flag(says.isNested)
        var profile: [UInt8] = [1]
        // Zeros are frequent, so that emulation prevention bytes are needed.
        for _ in 0..<11 { profile.append(Bool.random(using: &random) ? 0 : UInt8.random(in: 0...255, using: &random)) }
        for byte in profile { writer.bits(UInt64(byte), 8) }
        writeLayers(Int(says.subLayers), &writer, using: &random)
        writer.golomb(UInt64(number))
        says.chroma = UInt32.random(in: 0...3, using: &random)
        writer.golomb(UInt64(says.chroma))
        if says.chroma == 3 { writer.flag(false) }
        says.width = Int.random(in: 64...8192, using: &random)
        says.height = Int.random(in: 64...8192, using: &random)
        writer.golomb(UInt64(says.width))
        writer.golomb(UInt64(says.height))
        writeCrop(&writer, &says, rows: 1, using: &random)
        writeDepths(&writer, &says, using: &random)
        writer.golomb(4)
        return WrittenSequence(unit: UnitWriter.unit([0x42, 1], writer.payload), says: says, profile: profile)
    }

    private static func writeLayers(_ count: Int, _ writer: inout BitWriter, using random: inout SeededRandom) {
        guard count > 0 else { return }
        var bytes = 0
        for _ in 0..<count {
            let (hasProfile, hasLevel) = (Bool.random(using: &random), Bool.random(using: &random))
            writer.flag(hasProfile)
            writer.flag(hasLevel)
            bytes += (hasProfile ? 11 : 0) + (hasLevel ? 1 : 0)
        }
        writer.bits(0, 2 * (8 - count))
        for _ in 0..<bytes { writer.bits(UInt64.random(in: 0...255, using: &random), 8) }
    }

    private static func writeDepths(
        _ writer: inout BitWriter, _ says: inout SequenceParameters, using random: inout SeededRandom
    ) {
        says.lumaDepth = UInt32.random(in: 8...14, using: &random)
        says.chromaDepth = UInt32.random(in: 8...14, using: &random)
        writer.golomb(UInt64(says.lumaDepth - 8))
        writer.golomb(UInt64(says.chromaDepth - 8))
    }

    /// Chroma format, bit depths and scaling lists of high profiles.
    private static func writeFormats(
        _ writer: inout BitWriter, _ says: inout SequenceParameters, using random: inout SeededRandom
    ) {
        says.chroma = UInt32.random(in: 0...3, using: &random)
        writer.golomb(UInt64(says.chroma))
        if says.chroma == 3 { writer.flag(Bool.random(using: &random)) }
        writeDepths(&writer, &says, using: &random)
        writer.flag(false)
        let hasLists = Bool.random(using: &random)
        writer.flag(hasLists)
        guard hasLists else { return }
        for list in 0..<(says.chroma == 3 ? 12 : 8) {
            let isPresent = Bool.random(using: &random)
            writer.flag(isPresent)
            if isPresent { writeScalingList(list < 6 ? 16 : 64, &writer, using: &random) }
        }
    }

    /// A scaling list that ends where the next value would be 0 (7.3.2.1.1.1).
    private static func writeScalingList(_ size: Int, _ writer: inout BitWriter, using random: inout SeededRandom) {
        var last: Int64 = 8
        for _ in 0..<size {
            let step = Int64.random(in: -12...12, using: &random)
            writer.signed(step)
            last = (last + step + 256) % 256
            if last == 0 { return }
        }
    }

    /// The `pic_order_cnt_type` fields, of any of the three types.
    private static func writeOrder(_ writer: inout BitWriter, using random: inout SeededRandom) {
        let type = UInt64.random(in: 0...2, using: &random)
        writer.golomb(type)
        if type == 0 { writer.golomb(UInt64.random(in: 0...12, using: &random)) }
        guard type == 1 else { return }
        writer.flag(true)
        for _ in 0..<2 { writer.signed(Int64.random(in: -500...500, using: &random)) }
        let count = Int.random(in: 0...6, using: &random)
        writer.golomb(UInt64(count))
        for _ in 0..<count { writer.signed(Int64.random(in: -500...500, using: &random)) }
    }

    /// The cropping at the edges, in units of table 6-1.
    private static func writeCrop(
        _ writer: inout BitWriter, _ says: inout SequenceParameters, rows: Int, using random: inout SeededRandom
    ) {
        let isCropped = Bool.random(using: &random)
        writer.flag(isCropped)
        guard isCropped else { return }
        var edges: [Int] = []
        for _ in 0..<4 { edges.append(Int.random(in: 0...7, using: &random)) }
        for edge in edges { writer.golomb(UInt64(edge)) }
        says.width -= (edges[0] + edges[1]) * [1, 2, 2, 1][Int(says.chroma)]
        says.height -= (edges[2] + edges[3]) * [1, 2, 1, 1][Int(says.chroma)] * rows
    }
}

/// Matching parameter sets, and their configuration record.
struct WrittenSets {
    private(set) var vps: [[UInt8]] = []
    private(set) var sequences: [WrittenSequence] = []
    private(set) var pps: [[UInt8]] = []
    /// The IDs of the SPSs and PPSs.
    private(set) var numbers: Set<Int> = []
    /// The record of the sets by ISO/IEC 14496-15 (5.3.3.1.2, 8.3.3.1.2).
    private(set) var record: [UInt8] = []
    /// Where each set ends in ``record``.
    private(set) var ends: [Int] = []

    var sps: [[UInt8]] { sequences.map(\.unit) }
    var all: [[UInt8]] { vps + sps + pps }

    /// Sets of at most 255 bytes, whose IDs begin at `first`; at most 16 of them are used.
    init(_ codec: Codec, from first: Int = 0, using random: inout SeededRandom) {
        for number in first..<first + Int.random(in: 1...3, using: &random) {
            var sequence = Self.sequence(codec, number, using: &random)
            while sequence.unit.count > 255 { sequence = Self.sequence(codec, number, using: &random) }
            sequences.append(sequence)
            numbers.insert(number)
        }
        for number in first + 8..<first + 8 + Int.random(in: 1...4, using: &random) {
            var writer = BitWriter()
            writer.golomb(UInt64(number))
            writer.bits(UInt64.random(in: 0..<1 << 16, using: &random), 16)
            pps.append(UnitWriter.unit(UnitWriter.header(codec == .hevc ? 34 : 8, codec), writer.payload))
            numbers.insert(number)
        }
        if codec == .hevc {
            for number in 0..<UInt8.random(in: 1...2, using: &random) {
                // The first two bytes contain the ID, and two bytes of ones always follow them (ITU-T H.265, 7.3.2.1).
                let noise = UnitWriter.noise(Int.random(in: 0...60, using: &random), using: &random)
                vps.append(UnitWriter.unit([0x40, 1], [number << 4 | 0xC, 1, 0xFF, 0xFF] + noise))
            }
            writeHEVC(sequences[0])
        } else {
            writeAVC(sequences[0])
        }
    }

    private static func sequence(_ codec: Codec, _ number: Int, using random: inout SeededRandom) -> WrittenSequence {
        codec == .hevc ? SequenceWriter.hevc(number, using: &random) : SequenceWriter.avc(number, using: &random)
    }

    private mutating func append(_ sets: [[UInt8]]) {
        for set in sets {
            record += [UInt8(set.count >> 8), UInt8(set.count & 0xFF)] + set
            ends.append(record.count)
        }
    }

    private mutating func writeAVC(_ first: WrittenSequence) {
        record = [1] + first.profile + [0xFF, 0xE0 | UInt8(sps.count)]
        append(sps)
        record.append(UInt8(pps.count))
        append(pps)
        guard first.profile[0] >= 100 else { return }
        record += [0xFC | UInt8(first.says.chroma), 0xF8 | UInt8(first.says.lumaDepth - 8)]
        record += [0xF8 | UInt8(first.says.chromaDepth - 8), 0]
    }

    private mutating func writeHEVC(_ first: WrittenSequence) {
        record = [1] + first.profile + [0xF0, 0, 0xFC, 0xFC | UInt8(first.says.chroma)]
        record += [0xF8 | UInt8(first.says.lumaDepth - 8), 0xF8 | UInt8(first.says.chromaDepth - 8), 0, 0]
        record += [UInt8(first.says.subLayers + 1) << 3 | (first.says.isNested ? 4 : 0) | 3, 3]
        for (type, sets) in [(UInt8(32), vps), (33, sps), (34, pps)] {
            record += [0x80 | type, 0, UInt8(sets.count)]
            append(sets)
        }
    }
}
