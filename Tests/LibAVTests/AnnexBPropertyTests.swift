// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import LibAV

/// NAL units as an encoder writes them.
enum UnitWriter {
    /// The header of a unit of `type`; `reference` is H.264's `nal_ref_idc`.
    static func header(_ type: UInt8, _ codec: Codec, reference: UInt8 = 3) -> [UInt8] {
        codec == .hevc ? [type << 1, 1] : [reference << 5 | type]
    }

    /// The unit with this header and payload, with emulation prevention bytes (ITU-T H.264, 7.4.1).
    static func unit(_ header: [UInt8], _ payload: [UInt8]) -> [UInt8] {
        var (bytes, zeros) = (header, 0)
        for byte in payload {
            if zeros == 2, byte <= 3 {
                bytes.append(3)
                zeros = 0
            }
            bytes.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return bytes
    }

    /// `count` bytes, half of them bytes that start codes consist of; the last is not 0.
    static func noise(_ count: Int, using random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<count {
            let limit: UInt8 = Bool.random(using: &random) ? 3 : 255
            bytes.append(UInt8.random(in: 0...limit, using: &random))
        }
        return bytes + [0x80]
    }

    /// The units, each preceded by its length in 4 bytes.
    static func framed(_ units: [[UInt8]]) -> [UInt8] {
        units.flatMap { unit in (0..<4).map { UInt8(truncatingIfNeeded: unit.count >> (24 - 8 * $0)) } + unit }
    }

    /// Splits `payload` as made by ``framed(_:)`` into units; nil if it does not end at the end of a unit.
    static func units(of payload: [UInt8]) -> [[UInt8]]? {
        var (units, place): ([[UInt8]], Int) = ([], 0)
        while place < payload.count {
            guard place + 4 <= payload.count else { return nil }
            let end = place + 4 + payload[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            guard end <= payload.count else { return nil }
            units.append(Array(payload[place + 4..<end]))
            place = end
        }
        return units
    }

    /// `bytes` with one bit flipped.
    static func flipped(_ bytes: [UInt8], using random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        guard let place = bytes.indices.randomElement(using: &random) else { return bytes }
        bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        return bytes
    }
}

/// The NAL unit types by role (ITU-T H.264, table 7-1; H.265, table 7-1).
private struct UnitKinds {
    let codec: Codec
    private var isHEVC: Bool { codec == .hevc }

    /// Types to choose from.
    var types: [UInt8] {
        isHEVC ? [0, 1, 1, 8, 19, 21, 32, 33, 34, 34, 35, 39, 48] : [1, 1, 2, 5, 6, 7, 8, 8, 9, 12, 14, 20]
    }
    var sps: UInt8 { isHEVC ? 33 : 7 }
    var pps: UInt8 { isHEVC ? 34 : 8 }

    func isSlice(_ type: UInt8) -> Bool { isHEVC ? type < 32 : type == 1 || type == 5 }
    func isKeyframe(_ type: UInt8) -> Bool { isHEVC ? (16...21).contains(type) : type == 5 }
    func isSet(_ type: UInt8) -> Bool { isHEVC ? (32...34).contains(type) : type == 7 || type == 8 }
    func isDelimiter(_ type: UInt8) -> Bool { isHEVC ? (35...38).contains(type) : (9...12).contains(type) }
}

/// A NAL unit, and what the test knows about it without parsing.
private struct KnownUnit: Equatable {
    let type: UInt8
    /// The ID by which other units refer to it, if it is a parameter set.
    let number: Int
    let isReference: Bool
    let bytes: [UInt8]

    init(_ type: UInt8, _ kinds: UnitKinds, using random: inout SeededRandom) {
        let reference: UInt8 = kinds.isSet(type) ? 3 : .random(in: 0...3, using: &random)
        let header = UnitWriter.header(type, kinds.codec, reference: reference)
        self.type = type
        isReference = kinds.codec == .hevc ? type > 15 || type % 2 == 1 : reference > 0
        guard kinds.isSet(type) else {
            let count = Int.random(in: 0...30, using: &random)
            (number, bytes) = (0, UnitWriter.unit(header, UnitWriter.noise(count, using: &random)))
            return
        }
        let chosen = type == kinds.sps ? 0 : Int.random(in: 0...2, using: &random)
        var writer = BitWriter()
        if type == kinds.pps { writer.golomb(UInt64(chosen)) } else { writer.bits(UInt64(chosen), 4) }
        // There are only two contents, so that parameter sets repeat.
        writer.bits(UInt64.random(in: 4...5, using: &random), 8)
        (number, bytes) = (chosen, UnitWriter.unit(header, writer.payload))
    }
}

/// The reader's result for one access unit.
private struct Outcome: Equatable {
    let payload: [UInt8]
    let isKeyframe: Bool
    let isDisposable: Bool
    let changesConfiguration: Bool
}

/// The reader's rules, applied to units with known content.
private struct ReaderModel {
    let kinds: UnitKinds
    private var sets: [UInt8: [KnownUnit]] = [:]

    init(_ kinds: UnitKinds) { self.kinds = kinds }

    mutating func read(_ units: [KnownUnit], isEntry: Bool) -> Outcome? {
        let (before, kinds) = (sets, self.kinds)
        take(units.filter { kinds.isSet($0.type) })
        let isKeyframe = isEntry || units.contains { kinds.isKeyframe($0.type) }
        let kept = units.filter { unit in
            kinds.isSet(unit.type)
                ? !isKeyframe && before[unit.type]?.contains(unit) != true : !kinds.isDelimiter(unit.type)
        }
        let slices = units.filter { kinds.isSlice($0.type) }
        guard !slices.isEmpty else { return nil }
        return Outcome(
            payload: UnitWriter.framed(kept.map(\.bytes)), isKeyframe: isKeyframe,
            isDisposable: !slices.contains { $0.isReference }, changesConfiguration: before != sets)
    }

    private mutating func take(_ found: [KnownUnit]) {
        if found.contains(where: { $0.type == kinds.sps }) {
            for type in Set(found.map(\.type)) { sets[type] = found.filter { $0.type == type } }
            return
        }
        for set in found {
            if let place = sets[set.type]?.firstIndex(where: { $0.number == set.number }) {
                sets[set.type]?[place] = set
            } else {
                sets[set.type, default: []].append(set)
            }
        }
    }
}

/// Access units of random NAL units: complete, truncated and damaged.
@Suite("Random Annex B streams")
struct AnnexBPropertyTests {
    /// A random access unit without repeated parameter sets.
    private static func units(_ kinds: UnitKinds, using random: inout SeededRandom) -> [KnownUnit] {
        var units: [KnownUnit] = []
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let next = KnownUnit(kinds.types.randomElement(using: &random) ?? 1, kinds, using: &random)
            let isSecond = units.contains { $0.type == next.type && $0.number == next.number }
            if !isSecond || !kinds.isSet(next.type) { units.append(next) }
        }
        return units
    }

    /// The units after start codes of any length, and the position of each.
    private static func stream(
        _ units: [KnownUnit], using random: inout SeededRandom
    ) -> (bytes: [UInt8], places: [Range<Int>]) {
        var bytes = [UInt8](repeating: 0xFF, count: Int.random(in: 0...2, using: &random))
        var places: [Range<Int>] = []
        for unit in units {
            bytes += [UInt8](repeating: 0, count: Int.random(in: 2...5, using: &random)) + [1]
            places.append(bytes.count..<bytes.count + unit.bytes.count)
            bytes += unit.bytes
        }
        return (bytes + [UInt8](repeating: 0, count: Int.random(in: 0...3, using: &random)), places)
    }

    @Test(arguments: [Codec.h264, .hevc])
    func `The Annex B reader gives the same results as a simple model for random access units`(codec: Codec) {
        var random = SeededRandom("\(codec)")
        let kinds = UnitKinds(codec: codec)
        var (reader, model) = (AnnexBReader(codec), ReaderModel(kinds))
        for _ in 0..<400 {
            let units = Self.units(kinds, using: &random)
            let isEntry = Int.random(in: 0..<8, using: &random) == 0
            let read = reader.read(Self.stream(units, using: &random).bytes, isRandomAccess: isEntry)
            let found = read.map { unit in
                Outcome(
                    payload: unit.payload.array, isKeyframe: unit.isKeyframe, isDisposable: unit.isDisposable,
                    changesConfiguration: unit.changesConfiguration)
            }
            let expected = model.read(units, isEntry: isEntry)
            #expect(found == expected, "\(units.map(\.type))")
        }
    }

    @Test(arguments: [Codec.h264, .hevc])
    func `A truncated access unit yields the NAL units before the point of truncation`(codec: Codec) {
        var random = SeededRandom("\(codec)")
        for _ in 0..<20 {
            let units = Self.units(UnitKinds(codec: codec), using: &random)
            let (bytes, places) = Self.stream(units, using: &random)
            for end in 0...bytes.count {
                // Zeros at the end of a unit could belong to the next start code.
                let expected = places.filter { $0.lowerBound < end }.map { place in
                    var unit = Array(bytes[place.lowerBound..<min(end, place.upperBound)])
                    while unit.last == 0 { unit.removeLast() }
                    return unit
                }
                let found = AnnexBReader.units(Array(bytes[..<end])).map { Array($0) }
                #expect(found == expected.filter { !$0.isEmpty }, "\(bytes[..<end])")
            }
        }
    }

    @Test(arguments: [Codec.h264, .hevc])
    func `An Annex B stream with flipped bits never crashes the reader, and yields units without start codes`(
        codec: Codec
    ) {
        var random = SeededRandom("\(codec)")
        func isUnit(_ unit: [UInt8]) -> Bool {
            let places = 0..<max(0, unit.count - 2)
            return !unit.isEmpty && unit.last != 0 && !places.contains { Array(unit[$0..<$0 + 3]) == [0, 0, 1] }
        }
        var reader = AnnexBReader(codec)
        for _ in 0..<1000 {
            let units = Self.units(UnitKinds(codec: codec), using: &random)
            let bytes = UnitWriter.flipped(Self.stream(units, using: &random).bytes, using: &random)
            guard let read = reader.read(bytes) else { continue }
            let found = UnitWriter.units(of: read.payload.array) ?? []
            let areUnits = !found.isEmpty && found.allSatisfy(isUnit)
            // A length has one byte more than the shortest start code.
            #expect(areUnits && read.payload.count <= bytes.count + found.count, "\(bytes)")
        }
    }

    @Test func `In a truncated frame the first slice is found if the header of its NAL unit is complete`() {
        var random = SeededRandom()
        let kinds = UnitKinds(codec: .h264)
        for _ in 0..<30 {
            let units = (0..<4).map { _ in
                KnownUnit([1, 2, 5, 6, 8, 9, 14].randomElement(using: &random) ?? 1, kinds, using: &random)
            }
            let frame = UnitWriter.framed(units.map(\.bytes))
            for end in 0...frame.count {
                let part = Array(frame[..<end])
                var (seen, place): ([(unit: KnownUnit, bytes: [UInt8])], Int) = ([], 0)
                for unit in units where place + 4 < end {
                    seen.append((unit, Array(unit.bytes.prefix(end - place - 4))))
                    place += 4 + unit.bytes.count
                }
                let slice = seen.firstIndex { kinds.isSlice($0.unit.type) }
                let isDisposable = slice.map { !seen[$0].unit.isReference } ?? false
                #expect(AccessUnit.isDisposable(SharedBytes(part)) == isDisposable)
                var visited: [[UInt8]] = []
                let found = NALUnit.firstSlice(of: part, .h264) { _, unit in visited.append(Array(unit)) }
                #expect(found.map { Array($0.bytes) } == slice.map { seen[$0].bytes })
                #expect(visited == seen.prefix(slice ?? seen.count).map(\.bytes))
            }
        }
    }

    @Test func `A keyframe that repeats its parameter sets does not count as a change of configuration`() {
        let sets: [UInt8] = [0, 0, 1, 0x67, 100, 0, 31, 0x80, 0, 0, 1, 0x68, 0x80]
        let slice: [UInt8] = [0, 0, 1, 0x65, 0x88]
        var reader = AnnexBReader(.h264)
        let (first, second) = (reader.read(sets + slice), reader.read(sets + sets + slice))
        #expect(first?.changesConfiguration == true)
        #expect(second?.changesConfiguration == false)
    }
}
