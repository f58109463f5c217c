// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RTMP

@Suite("Parsing a client's chunks")
struct RTMPChunkTests {
    private let body = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }

    @Test("An RTMP message is assembled from chunks of any size", arguments: [1, 2, 127, 128, 4096, 0x7FFF_FFFF])
    func sizes(size: Int) throws {
        var parser = RTMPInboundParser()
        let bytes = ClientBytes.chunkSize(UInt32(size)) + ClientBytes.message(9, body, time: 40, chunk: size)
        let messages = try parser.parse(bytes)
        #expect(messages == [.init(type: 9, timestamp: 40, streamID: 0, body: body)])
        #expect(parser.chunkBytes == size)
    }

    @Test(
        "A client's RTMP chunk size of 0, or of 2^31 and more, is refused",
        arguments: [0, 0x8000_0000, 0xFFFF_FFFF] as [UInt32])
    func badSizes(size: UInt32) {
        var parser = RTMPInboundParser()
        #expect(throws: RTMPInboundParser.Malformed.self) { _ = try parser.parse(ClientBytes.chunkSize(size)) }
    }

    @Test("A chunk size that changes within an RTMP message applies to the rest of the message")
    func changingSize() throws {
        var parser = RTMPInboundParser()
        let whole = ClientBytes.message(9, Array(body[..<300]), csid: 6)
        let head = 12 + 128
        let bytes = whole[..<head] + ClientBytes.chunkSize(1000) + [0xC6] + body[128..<300]
        #expect(try parser.parse(bytes) == [.init(type: 9, body: Array(body[..<300]))])
    }

    @Test(
        "Extended RTMP timestamps are parsed whether or not a client repeats them in each chunk",
        arguments: [true, false])
    func extended(repeats: Bool) throws {
        var parser = RTMPInboundParser()
        let times: [UInt32] = [0xFF_FFFE, 0xFF_FFFF, 0x100_0000, 0x8000_0000, 0xFFFF_FFFF]
        var bytes: [UInt8] = []
        for time in times { bytes += ClientBytes.message(9, body, time: time, repeatsTime: repeats) }
        let messages = try parser.parse(bytes)
        #expect(messages.map(\.timestamp) == times)
        #expect(messages.allSatisfy { $0.body == body })
    }

    @Test("Extended RTMP timestamps are parsed wherever the bytes are split", arguments: [true, false])
    func extendedSplit(repeats: Bool) throws {
        let body = Array(body[..<300])
        let bytes = ClientBytes.message(9, body, time: 0x100_0000, repeatsTime: repeats) + ClientBytes.message(8, [1])
        for split in bytes.indices {
            var parser = RTMPInboundParser()
            var messages = try parser.parse(bytes[..<split])
            messages += try parser.parse(bytes[split...])
            #expect(messages.map(\.timestamp) == [0x100_0000, 0] && messages.first?.body == body)
        }
    }

    @Test("RTMP time differences add up across the wrap of the timestamp")
    func deltas() throws {
        var parser = RTMPInboundParser()
        var bytes = ClientBytes.message(9, [1], time: 0xFFFF_FF00) + ClientBytes.later(9, [2], by: 0x200)
        bytes += ClientBytes.later(9, [3], by: 0x100_0000)
        // One header of type 2 and two headers of type 3, which repeat the time difference.
        bytes += [0x83, 0, 0, 40, 4, 0xC3, 5, 0xC3, 6]
        let messages = try parser.parse(bytes)
        #expect(messages.map(\.body) == [[1], [2], [3], [4], [5], [6]])
        #expect(messages.map(\.timestamp) == [0xFFFF_FF00, 0x100, 0x100_0100, 0x100_0128, 0x100_0150, 0x100_0178])
    }

    @Test("An abort message, or a header within another message, discards an incomplete RTMP message")
    func abort() throws {
        var parser = RTMPInboundParser()
        let whole = ClientBytes.message(9, body, csid: 6)
        var bytes = whole[..<(12 + 128 + 1 + 128)] + ClientBytes.message(2, [0, 0, 0, 6], csid: 2)
        bytes += ClientBytes.message(2, [0, 0, 9, 9], csid: 2)
        bytes += whole[..<(12 + 128)] + whole
        #expect(try parser.parse(bytes).map(\.body) == [body])
        #expect(parser.heldBytes == 0)
    }

    @Test("No memory is allocated for announced bytes, and a client with too many chunk streams is refused")
    func announced() {
        var parser = RTMPInboundParser(limits: RTMPServerSession.publisherLimits)
        var refusedAt: Int?
        for id in 0..<65_599 {
            let basic: [UInt8] = [0x01, UInt8(id & 0xFF), UInt8(id >> 8 & 0xFF)]
            // The header announces 16 MiB − 1 bytes, and one chunk of 128 bytes follows.
            let chunk = basic + [0, 0, 0, 0xFF, 0xFF, 0xFF, 9, 1, 0, 0, 0] + [UInt8](repeating: 7, count: 128)
            do { #expect(try parser.parse(chunk).isEmpty) } catch {
                refusedAt = id
                break
            }
            #expect(parser.heldBytes <= 64 * 128)
        }
        #expect(refusedAt == 64)
    }

    @Test("A publisher's message of the maximum size is received, and a second incomplete one is refused at the limit")
    func largest() throws {
        var parser = RTMPInboundParser(limits: RTMPServerSession.publisherLimits)
        let body = [UInt8](repeating: 1, count: 0xFF_FFFF)
        _ = try parser.parse(ClientBytes.chunkSize(0x7FFF_FFFF))
        #expect(try parser.parse(ClientBytes.message(9, body, chunk: body.count)).first?.body.count == body.count)
        let chunk = 0xFF_FFF0
        let most = ClientBytes.message(9, body, csid: 4, chunk: chunk).prefix(12 + chunk)
        #expect(try parser.parse(ClientBytes.chunkSize(UInt32(chunk)) + most).isEmpty)
        #expect(throws: RTMPInboundParser.Malformed.self) {
            _ = try parser.parse(ClientBytes.message(9, body, csid: 5, chunk: chunk).prefix(2 << 20))
        }
    }
}
