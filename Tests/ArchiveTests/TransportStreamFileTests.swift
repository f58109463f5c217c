// SPDX-License-Identifier: Apache-2.0

import Glibc
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import MP4

/// Transport streams as a crash, a disk or another program can leave them.
@Suite struct TransportStreamFileTests {
    /// Bytes on a disk that cannot read some of them.
    private struct Disk: ByteSource {
        var bytes: [UInt8]
        var unreadable: Range<Int64> = 0..<0

        func size() throws -> Int64 { Int64(bytes.count) }

        func read(at offset: Int64, count: Int) throws -> [UInt8] {
            if unreadable.overlaps(offset..<offset + Int64(count)) { throw FileFailure("read", "disk", code: EIO) }
            return Array(bytes.dropFirst(Int(offset)).prefix(count))
        }
    }

    /// The kinds of packets that the parser distinguishes.
    private enum Kind: CaseIterable {
        case frame, frameBehindAdaptation, audio, continuation, startWithoutPayload, damaged
    }

    private func makePacket(_ kind: Kind, _ random: inout SeededRandom) -> [UInt8] {
        var bytes = random.bytes(188)
        bytes[0] = 0x47
        let start: [UInt8] = [0, 0, 1, 0xE0 | UInt8.random(in: 0..<16, using: &random)]
        switch kind {
        case .frame:
            (bytes[1], bytes[3]) = (0x41, 0x10)
            bytes.replaceSubrange(4..<8, with: start)
        case .frameBehindAdaptation:
            let length = Int.random(in: 0...179, using: &random)
            (bytes[1], bytes[3], bytes[4]) = (0x41, 0x30, UInt8(length))
            bytes.replaceSubrange(5 + length..<9 + length, with: start)
        case .audio:
            (bytes[1], bytes[3]) = (0x42, 0x10)
            bytes.replaceSubrange(4..<8, with: [0, 0, 1, 0xC0])
        case .continuation: (bytes[1], bytes[3]) = (0x01, 0x10)
        case .startWithoutPayload:
            (bytes[1], bytes[3]) = (0x41, 0x20)
            bytes.replaceSubrange(4..<8, with: start)
        case .damaged: bytes[0] = random.pick([0, 0x46, 0xFF])
        }
        return bytes
    }

    /// Returns the expected content of a stream with packets of these kinds. A frame is complete if no packet up to the
    /// next frame is damaged.
    private func count(_ kinds: [Kind], isWhole: Bool) -> TransportStreamFile.Content {
        var content = TransportStreamFile.Content()
        content.missingBytes = Int64(kinds.count { $0 == .damaged }) * 188
        let starts = kinds.indices.filter { [.frame, .frameBehindAdaptation].contains(kinds[$0]) }
        for (index, start) in starts.enumerated() {
            let isLast = index == starts.count - 1
            let packets = kinds[start..<(isLast ? kinds.count : starts[index + 1])]
            if !packets.contains(.damaged), !isLast || isWhole { content.frames += 1 }
        }
        return content
    }

    @Test func `The complete frames and the missing bytes of any transport stream are counted`() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let kinds = (0..<Int.random(in: 0...40, using: &random)).map { _ in random.pick(Kind.allCases) }
            let disk = Disk(bytes: kinds.flatMap { makePacket($0, &random) })
            for isWhole in [true, false] {
                let content = try TransportStreamFile.content(
                    of: disk, in: 0..<Int64(disk.bytes.count), isWhole: isWhole)
                #expect(content == count(kinds, isWhole: isWhole), "\(kinds)")
            }
        }
    }

    @Test func `Each frame of a long transport stream is counted once, even if it spans two reads`() throws {
        var random = SeededRandom()
        let kinds = (0..<9000).map { $0 % 7 == 3 ? Kind.frame : .continuation }
        let frame = makePacket(.frame, &random)
        let continuation = makePacket(.continuation, &random)
        let disk = Disk(bytes: Array(kinds.map { $0 == .frame ? frame : continuation }.joined()))
        let content = try TransportStreamFile.content(of: disk, in: 0..<9000 * 188, isWhole: true)
        #expect(content == count(kinds, isWhole: true) && content.missingBytes == 0)

        // The parser reads 4096 packets at a time. The second of three reads fails.
        var torn = disk
        torn.unreadable = 5000 * 188..<5001 * 188
        let rest = try TransportStreamFile.content(of: torn, in: 0..<9000 * 188, isWhole: true)
        var expected = kinds
        for index in 4096..<8192 { expected[index] = .damaged }
        #expect(rest == count(expected, isWhole: true))
        #expect(try TransportStreamFile.end(of: torn, size: 9000 * 188) == 9000 * 188)
    }

    @Test func `A transport stream ends after its last valid packet, whatever bytes follow`() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let kinds = (0..<Int.random(in: 0...30, using: &random)).map { _ in random.pick(Kind.allCases) }
            let tail = [UInt8](repeating: 0, count: Int.random(in: 0...600, using: &random))
            let disk = Disk(bytes: kinds.flatMap { makePacket($0, &random) } + tail)
            let last = kinds.lastIndex { $0 != .damaged }
            let expected = last.map { Int64($0 + 1) * 188 } ?? 0
            #expect(try TransportStreamFile.end(of: disk, size: Int64(disk.bytes.count)) == expected)
        }
        // The zeros are longer than one read.
        let packet = makePacket(.frame, &random)
        let disk = Disk(bytes: packet + [UInt8](repeating: 0, count: 9000 * 188))
        #expect(try TransportStreamFile.end(of: disk, size: try disk.size()) == 188)
    }

    @Test func `If the disk cannot read the last packet of a transport stream, this packet is not cut off`() throws {
        var random = SeededRandom()
        let packet = makePacket(.frame, &random)
        let disk = Disk(
            bytes: packet + [UInt8](repeating: 0, count: 188 * 9), unreadable: 188 * 9..<188 * 10)
        #expect(try TransportStreamFile.end(of: disk, size: 1880) == 1880)
    }

    @Test func `The last part of a transport stream begins at a packet, and has no more bytes than requested`() {
        for (end, count) in [(1880, 1880), (1880, 1879), (1880, 188), (1880, 187), (1880, 0), (0, 100), (1880, 9999)]
            as [(Int64, Int64)]
        {
            let tail = TransportStreamFile.tail(of: end, count)
            #expect(tail.upperBound == end && tail.lowerBound % 188 == 0)
            #expect(tail.lowerBound >= end - count && tail.lowerBound < max(1, end - count + 188))
        }
    }

    @Test func `The channel's name is read from relay's transport streams, and not from those of other programs`() {
        for channel in ["test", "é\u{1F3A5}", String(repeating: "c", count: 100)] {
            let head = Array(SampleRecording.streamHead(of: channel).prefix(TransportStreamFile.headSize))
            #expect(TransportStreamFile.isOurs(head))
            #expect(TransportStreamFile.channel(head) == channel)
        }
        var other = [UInt8](repeating: 0xFF, count: TransportStreamFile.headSize)
        #expect(!TransportStreamFile.isOurs(other) && TransportStreamFile.channel(other) == nil)
        for packet in 0..<4 { other[packet * 188] = 0x47 }
        #expect(!TransportStreamFile.isOurs(other) && !TransportStreamFile.isOurs([]))
        #expect(TransportStreamFile.channel([]) == nil)
    }

    @Test func `A service name in a transport stream is ignored if it is truncated or longer than its packet`() {
        let maker = [UInt8(5)] + Array("relay".utf8)
        for length in 0...40 {
            // The length of the name says 20, but the head may end earlier.
            let text = maker + [20] + [UInt8](repeating: 0x61, count: 20)
            let head = Array(text.prefix(length))
            let channel = TransportStreamFile.channel(head)
            #expect(channel == nil || length > maker.count, "\(length)")
            #expect((channel ?? "").utf8.allSatisfy { $0 == 0x61 })
        }
        var head = [UInt8](repeating: 0xFF, count: TransportStreamFile.headSize)
        let place = 188 - maker.count - 1 - 3
        head.replaceSubrange(place..<place + maker.count + 1, with: maker + [4])
        #expect(TransportStreamFile.channel(head) == nil)
        head[place + maker.count] = 3
        #expect(TransportStreamFile.channel(head) != nil)
    }

    @Test func `Random bytes after the provider name never crash the parser`() {
        var random = SeededRandom()
        let maker = [UInt8(5)] + Array("relay".utf8)
        for _ in 0..<5000 {
            let count = Int.random(in: 0...TransportStreamFile.headSize, using: &random)
            var head = random.bytes(count)
            head.insert(contentsOf: maker, at: Int.random(in: 0...count, using: &random))
            _ = TransportStreamFile.channel(head)
            _ = TransportStreamFile.isOurs(head)
        }
    }
}
