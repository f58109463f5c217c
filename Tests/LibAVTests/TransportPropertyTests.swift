// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing

@testable import LibAV

/// Delivers bytes in pieces of random sizes, some of them empty.
private final class RandomPieces: ByteStream {
    private let bytes: [UInt8]
    private let sizes: [Int]
    private let place = Mutex((offset: 0, turn: 0))

    init(_ bytes: [UInt8], using random: inout SeededRandom) {
        var sizes = [188]
        for _ in 0..<16 { sizes.append(max(0, Int.random(in: -100...700, using: &random))) }
        (self.bytes, self.sizes) = (bytes, sizes)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        place.withLock { place in
            guard place.offset < bytes.count else { return nil }
            let count = min(buffer.count, bytes.count - place.offset, sizes[place.turn % sizes.count])
            buffer.copyBytes(from: bytes[place.offset..<place.offset + count])
            place = (place.offset + count, place.turn + 1)
            return count
        }
    }
}

/// Transport packets, sections and ADTS frames: complete, truncated and damaged.
@Suite("Random transport streams")
struct TransportPropertyTests {
    /// Reads `bytes` to the end with buffers of random sizes.
    private static func drain(
        _ bytes: TransportStreamBytes, smallest: Int, using random: inout SeededRandom
    ) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 3000, alignment: 1)
        defer { buffer.deallocate() }
        var found: [UInt8] = []
        while true {
            let part = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<Int.random(in: smallest...3000, using: &random)])
            guard let count = bytes.read(into: part) else { return found }
            found += part[..<count]
        }
    }

    /// Random stream types other than private data.
    private static func types(using random: inout SeededRandom) -> [UInt8] {
        var types: [UInt8] = []
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            types.append([0x1B, 0x24, 0x0F, 0x03].randomElement(using: &random) ?? 0x1B)
        }
        return types
    }

    /// A stream that begins with the tables and contains the program map at least five times.
    private static func stream(_ types: [UInt8], using random: inout SeededRandom) -> [UInt8] {
        var bytes = PacketWriter.packets(PacketWriter.association, pid: 0, using: &random).flatMap { $0 }
        for _ in 0..<Int.random(in: 5...8, using: &random) {
            bytes += PacketWriter.packets(PacketWriter.map(types), pid: 0x1000, using: &random).flatMap { $0 }
            bytes += PacketWriter.content(using: &random)
        }
        return bytes
    }

    @Test func `A transport stream with one coding passes the check for codec changes unchanged, even if damaged`() {
        var random = SeededRandom()
        for turn in 0..<60 {
            var sent = Self.stream(Self.types(using: &random), using: &random)
            if turn % 3 > 0 { sent = UnitWriter.flipped(sent, using: &random) }
            if turn % 3 > 1 {
                let place = Int.random(in: 0...sent.count, using: &random)
                sent.insert(contentsOf: UnitWriter.noise(turn, using: &random), at: place)
            }
            sent.removeLast(Int.random(in: 0..<188, using: &random))
            let bytes = TransportStreamBytes(RandomPieces(sent, using: &random))
            let isSame = Self.drain(bytes, smallest: 1, using: &random) == sent
            #expect(isSame && !bytes.isChanged, "turn \(turn)")
        }
    }

    @Test
    func `A demuxer's bytes end before a changed program map, and the next demuxer's bytes begin with the tables`() {
        var random = SeededRandom()
        for turn in 0..<60 {
            let before = Self.types(using: &random)
            var after = before
            after[Int.random(in: 0..<after.count, using: &random)] = 0x81
            let first = Self.stream(before, using: &random)
            let map = PacketWriter.packets(PacketWriter.map(after), pid: 0x1000, using: &random)
            var rest = PacketWriter.content(using: &random)
            rest += PacketWriter.packets(PacketWriter.map(after), pid: 0x1000, using: &random).flatMap { $0 }
            let whole: [UInt8] = map.flatMap { $0 }
            let bytes = TransportStreamBytes(RandomPieces(first + whole + rest, using: &random))
            // The packet that completes the map reveals the change.
            let isFirst = Self.drain(bytes, smallest: 376, using: &random) == first + Array(whole.dropLast(188))
            #expect(isFirst && bytes.isChanged, "turn \(turn)")
            bytes.resume()
            let expected: [UInt8] = Array(first[..<188]) + whole + rest
            let isRest = Self.drain(bytes, smallest: 376, using: &random) == expected
            #expect(isRest && !bytes.isChanged, "turn \(turn)")
        }
    }

    @Test func `A damaged stream with two codings ends for its demuxer at most once, and no byte is lost`() {
        var random = SeededRandom()
        for turn in 0..<60 {
            let types = Self.types(using: &random)
            let first = Self.stream(types, using: &random)
            let second = Self.stream([0x81] + Array(types.dropFirst()), using: &random)
            let sent = UnitWriter.flipped(first + second, using: &random)
            let bytes = TransportStreamBytes(RandomPieces(sent, using: &random))
            var (found, changes) = (Self.drain(bytes, smallest: 1, using: &random).count, 0)
            while bytes.isChanged, changes < 5 {
                changes += 1
                bytes.resume()
                found += Self.drain(bytes, smallest: 1, using: &random).count
            }
            #expect(changes <= 1 && (changes == 1 ? found >= sent.count : found == sent.count), "turn \(turn)")
        }
    }

    @Test
    func `A splice stream is added to a program map if it fits into the packet, and a damaged map stays one packet`() {
        var random = SeededRandom()
        for count in 1...34 {
            let types = [UInt8](repeating: 0x0F, count: count)
            let section = PacketWriter.map(types)
            guard section.count < 184 else { continue }
            let head: [UInt8] = [0x47, 0x50, 0, 0x10, 0]
            let packet = head + section + [UInt8](repeating: 0xFF, count: 183 - section.count)
            let registration: [UInt8] = [0xE1, 0, 0xF0, 6, 5, 4, 0x43, 0x55, 0x45, 0x49]
            let named = PacketWriter.section(
                2, registration + PacketWriter.streams(types) + [0x86, 0xE1, 0xF0, 0xF0, 0])
            let filling = [UInt8](repeating: 0xFF, count: max(0, 183 - named.count))
            let announced = SpliceTables().announced(packet)
            #expect(announced == (named.count <= 183 ? head + named + filling : packet), "\(count) streams")
            for _ in 0..<200 {
                let damaged = UnitWriter.flipped(packet, using: &random)
                let found = SpliceTables().announced(damaged)
                #expect(found.count == 188 && found.prefix(4) == damaged.prefix(4))
            }
        }
    }

    @Test func `A program map section that would begin after the end of its packet is left unchanged`() async {
        await #expect(processExitsWith: .success) {
            let packet: [UInt8] = [0x47, 0x50, 0, 0x10, 200] + [UInt8](repeating: 0xFF, count: 183)
            #expect(SpliceTables().announced(packet) == packet)
        }
    }

    @Test func `Two shifts of a splice section equal one shift by their sum, and a flipped bit is detected`() throws {
        var random = SeededRandom()
        for _ in 0..<40 {
            let body = UnitWriter.noise(Int.random(in: 10...600, using: &random), using: &random)
            let length = body.count + 4
            let section = SpliceSection.sealed([0xFC, 0x30 | UInt8(length >> 8), UInt8(length & 0xFF)] + body)
            let steps = (Int64.random(in: .min ... .max, using: &random), Int64.random(in: 0..<1 << 33, using: &random))
            let moved = try #require(SpliceSection.shifted(section, by: steps.0))
            let (twice, once) = (
                SpliceSection.shifted(moved, by: steps.1),
                SpliceSection.shifted(section, by: steps.0 % (1 << 33) + steps.1)
            )
            #expect(twice == once && moved.count == section.count)
            #expect(moved[..<4] == section[..<4] && moved[4] & 0xFE == section[4] & 0xFE)
            #expect(moved[9...].dropLast(4) == section[9...].dropLast(4))
            let damaged = UnitWriter.flipped(section, using: &random)
            #expect(SpliceSection.shifted(damaged, by: steps.0) == nil, "\(damaged)")
        }
    }

    @Test func `A clock reference in a transport packet is read back as written, and can be removed`() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let pid = UInt16.random(in: 0...0x1FFF, using: &random)
            let isNew = Bool.random(using: &random)
            let times = (Int64.random(in: .min ... .max, using: &random), Int64.random(in: 0..<1 << 33, using: &random))
            var bytes = ClockReference.packet(pid: pid, continuity: 9, time: times.0, isDiscontinuous: isNew)
            let packet = TransportPacket(bytes[...])
            #expect(packet?.pid == Int(pid) && packet?.continuity == 9 && packet?.isDiscontinuous == isNew)
            #expect(packet?.clock == (times.0 & 0x1_FFFF_FFFF) * 300 && packet?.payload == nil)
            ClockReference.write(times.1, into: &bytes, at: 0)
            let later = TransportPacket(bytes[...])?.clock
            #expect(ClockReference.isIn(bytes, at: 0) && later == times.1 * 300)
            ClockReference.remove(from: &bytes, at: 0)
            let isLeft = ClockReference.isIn(bytes, at: 0)
            #expect(!isLeft && TransportPacket(bytes[...])?.clock == nil && bytes.count == 188)
        }
    }

    @Test func `ADTS frames are read back as written, and frames before damage are kept`() {
        var random = SeededRandom()
        for _ in 0..<40 {
            var (bytes, frames, ends): ([UInt8], [ADTSFrame], [Int]) = ([], [], [])
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let (part, frame) = Self.adts(using: &random)
                bytes += part
                frames.append(frame)
                ends.append(bytes.count)
            }
            for end in 0...bytes.count {
                let whole = ends.count { $0 <= end }
                #expect(ADTSFrame.frames(Array(bytes[..<end])) == Array(frames.prefix(whole)))
            }
            let place = Int.random(in: 0..<bytes.count, using: &random)
            bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            let found = ADTSFrame.frames(bytes)
            #expect(found.starts(with: frames.prefix(ends.count { $0 <= place })))
            #expect(found.reduce(0) { $0 + $1.payload.count + 7 } <= bytes.count)
            #expect(found.allSatisfy { !$0.payload.isEmpty && (0...8).contains($0.channels) && $0.channels != 7 })
        }
    }

    /// A frame of any kind (ISO/IEC 13818-7, 6.2.1), and its content.
    private static func adts(using random: inout SeededRandom) -> (bytes: [UInt8], frame: ADTSFrame) {
        let rates: [Int32] = [
            96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
        ]
        let profile = UInt64.random(in: 0...3, using: &random)
        let rate = Int.random(in: 0..<rates.count, using: &random)
        let channels = UInt64.random(in: 0...7, using: &random)
        let hasChecksum = Bool.random(using: &random)
        let payload = UnitWriter.noise(Int.random(in: 0...90, using: &random), using: &random)
        var (header, configuration) = (BitWriter(), BitWriter())
        let length = UInt64(payload.count + (hasChecksum ? 9 : 7))
        let fields: [(value: UInt64, bits: Int)] = [
            (0xFFF, 12), (UInt64.random(in: 0...1, using: &random), 1), (0, 2), (hasChecksum ? 0 : 1, 1), (profile, 2),
            (UInt64(rate), 4), (0, 1), (channels, 3), (0, 4), (length, 13), (0x7FF, 11), (0, 2),
        ]
        for field in fields { header.bits(field.value, field.bits) }
        for (value, bits) in [(profile + 1, 5), (UInt64(rate), 4), (channels, 4), (0, 3)] {
            configuration.bits(value, bits)
        }
        let frame = ADTSFrame(
            configuration: configuration.bytes, sampleRate: rates[rate], channels: channels == 7 ? 8 : Int(channels),
            payload: payload)
        return (header.bytes + (hasChecksum ? [0x12, 0x34] : []) + payload, frame)
    }
}
