// SPDX-License-Identifier: Apache-2.0

import Media
import Networking
import TestSupport
import Testing

@testable import RTMP

@Suite struct RTMPInboundTests {
    /// An `onStatus` command as servers send it.
    private static let onStatus: [UInt8] = {
        var writer = AMF0Writer()
        writer.write("onStatus")
        writer.write(0)
        writer.writeNull()
        writer.writeArray([
            ("level", .string("error")), ("code", .string("NetStream.Publish.BadName")),
            ("description", .string("key abcdef123 is taken")),
        ])
        return writer.bytes
    }()

    /// Set Chunk Size 200, window size, ping, and an `onStatus` in several chunks.
    private static let conversation: [UInt8] = {
        var bytes: [UInt8] = [0x02, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 50]
        bytes += [0x42, 0, 0, 0, 0, 0, 4, 5, 0, 0x26, 0x25, 0xA0]
        bytes += [0x02, 0xFF, 0xFF, 0xFF, 0, 0, 6, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 6, 1, 2, 3, 4]
        bytes += [0x00, 10, 0, 0, 0, 0, 0, UInt8(onStatus.count), 20, 1, 0, 0, 0]
        for start in stride(from: 0, to: onStatus.count, by: 50) {
            if start > 0 { bytes += [0xC0, 10] }
            bytes += onStatus[start..<min(start + 50, onStatus.count)]
        }
        return bytes
    }()

    @Test("A server's RTMP messages are parsed the same, wherever their bytes are split")
    func splits() throws {
        var whole = RTMPInboundParser()
        let expected = try whole.parse(Self.conversation)
        #expect(expected.map(\.type) == [5, 4, 20])
        #expect(expected.last?.body == Self.onStatus)
        for split in 0...Self.conversation.count {
            var parser = RTMPInboundParser()
            var messages = try parser.parse(Self.conversation[..<split])
            messages += try parser.parse(Self.conversation[split...])
            #expect(messages == expected)
        }
    }

    @Test("An RTMP server's pings are answered, and its errors are reported")
    func answers() {
        var channel = RTMPBackChannel(parser: RTMPInboundParser())
        let answer = channel.take(Self.conversation)
        let replies = channel.takeReplies()
        #expect(replies.map(\.kind) == [.userControl])
        #expect(replies.first?.payload.array == [0, 7, 1, 2, 3, 4])
        #expect(answer.messages.map(\.code) == ["NetStream.Publish.BadName"])
        #expect(answer.messages.first?.isError == true)
        #expect(answer.messages.first?.failureKind == .rejected)
    }

    @Test("Bytes received from a server are acknowledged once per window")
    func acknowledges() {
        var channel = RTMPBackChannel(parser: RTMPInboundParser(), receivedBytes: 100)
        let window: [UInt8] = [0x02, 0, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 40]
        for _ in 0..<2 {
            _ = channel.take(window)
            #expect(!channel.owesReplies)
        }
        _ = channel.take(window)
        let replies = channel.takeReplies()
        #expect(replies.map(\.kind) == [.acknowledgement])
        #expect(replies.first?.payload.array == [0, 0, 0, 148])
        _ = channel.take(window)
        #expect(!channel.owesReplies)
    }

    @Test("If RTMP replies do not fit into the send buffer, the newest of each kind is sent later")
    func owes() {
        var channel = RTMPBackChannel(parser: RTMPInboundParser())
        let window: [UInt8] = [0x02, 0, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 20]
        _ = channel.take(window)
        for time in 0..<100 {
            _ = channel.take([0x02, 0, 0, 0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 6, 0, 0, 0, UInt8(time)])
        }
        #expect(channel.owesReplies)
        let replies = channel.takeReplies()
        #expect(Set(replies.map(\.kind)) == [.acknowledgement, .userControl] && replies.count == 2)
        #expect(replies.first { $0.kind == .userControl }?.payload.array == [0, 7, 0, 0, 0, 99])
        let acknowledged = replies.first { $0.kind == .acknowledgement }?.payload.array ?? []
        #expect(acknowledged.reduce(0) { $0 << 8 | Int($1) } > 1700)
        #expect(channel.takeReplies().isEmpty)
    }

    @Test("relay's parser completes an RTMP message of which librtmp has read the beginning")
    func handover() throws {
        var parser = RTMPInboundParser(chunkBytes: 4, streams: [3: .init(type: 20, length: 6, body: [1, 2, 3, 4])])
        #expect(try parser.parse([0xC3, 5, 6]) == [.init(type: 20, body: [1, 2, 3, 4, 5, 6])])
        #expect(try parser.parse([0xC3, 1, 1, 1, 1, 0xC3, 2, 2]) == [.init(type: 20, body: [1, 1, 1, 1, 2, 2])])
    }

    /// The messages that a parser finds in consecutive `pieces`; nil if it refuses the bytes.
    private func messages(in pieces: [ArraySlice<UInt8>]) -> [RTMPInboundParser.Message]? {
        var parser = RTMPInboundParser()
        var messages: [RTMPInboundParser.Message] = []
        for piece in pieces {
            guard let found = try? parser.parse(piece) else { return nil }
            messages += found
            #expect(parser.heldBytes <= RTMPInboundParser.maximumHeldBytes)
        }
        return messages
    }

    @Test("Random bytes from a peer give the same result wherever they are split, within bounded memory")
    func random() {
        var generator = SeededRandom()
        var (read, refused) = (0, 0)
        for round in 0..<400 {
            let bytes =
                switch round % 3 {
                case 0: (0..<4096).map { _ in UInt8.random(in: 0...255, using: &generator) }
                case 1: Self.conversation.shuffled(using: &generator)
                default: Self.conversation + Self.conversation.shuffled(using: &generator)
                }
            let cuts =
                [Int.random(in: 0...bytes.count, using: &generator)]
                + [Int.random(in: 0...bytes.count, using: &generator)]
            let (first, second) = (cuts.min() ?? 0, cuts.max() ?? 0)
            let whole = messages(in: [bytes[...]])
            #expect(messages(in: [bytes[..<first], bytes[first..<second], bytes[second...]]) == whole)
            if whole == nil { refused += 1 } else { read += 1 }
        }
        #expect(read > 0 && refused > 0, "read \(read), refused \(refused): both must be tried")
    }

    /// The basic header of a chunk (5.3.1.1).
    private static func basicHeader(_ format: UInt8, of stream: Int) -> [UInt8] {
        switch stream {
        case ..<64: [format << 6 | UInt8(stream)]
        case ..<320: [format << 6, UInt8(stream - 64)]
        default: [format << 6 | 1, UInt8((stream - 64) & 0xFF), UInt8((stream - 64) >> 8)]
        }
    }

    @Test("Messages on many chunk streams whose chunks alternate arrive whole; one that is aborted does not arrive")
    func alternation() throws {
        var generator = SeededRandom()
        var streams = Array(3..<23) + Array(64..<84) + Array(320..<340)
        streams.shuffle(using: &generator)
        var rest: [Int: [UInt8]] = [:]
        for stream in streams {
            let count = Int.random(in: 200...900, using: &generator)
            rest[stream] = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        let (bodies, aborted) = (rest, streams[30])
        var (parser, ended, begun) = (RTMPInboundParser(), [Int](), Set<Int>())
        var messages: [RTMPInboundParser.Message] = []
        while let stream = streams.randomElement(using: &generator), let left = rest[stream] {
            var bytes = Self.basicHeader(begun.insert(stream).inserted ? 0 : 3, of: stream)
            if left == bodies[stream] {
                let length = [0, UInt8(left.count >> 8), UInt8(left.count & 0xFF)]
                bytes += [0, 0, 0] + length + [9, UInt8(stream & 0xFF), 0, 0, 0]
            }
            messages += try parser.parse(bytes + left.prefix(128))
            rest[stream] = Array(left.dropFirst(128))
            if stream == aborted {
                let number = (0..<4).reversed().map { UInt8(stream >> (8 * $0) & 0xFF) }
                messages += try parser.parse([0x02, 0, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0] + number)
                streams.removeAll { $0 == stream }
            } else if left.count <= 128 {
                ended.append(stream)
                streams.removeAll { $0 == stream }
            }
        }
        #expect(ended.count == 59)
        #expect(messages.map(\.body) == ended.compactMap { bodies[$0] })
        #expect(messages.map(\.streamID) == ended.map { UInt32($0 & 0xFF) })
        #expect(parser.heldBytes == 0)
    }

    @Test("A peer that begins many long messages and ends none is refused before they fill the memory")
    func flood() {
        var parser = RTMPInboundParser(chunkBytes: 1 << 16)
        let piece = [UInt8](repeating: 0xAB, count: 1 << 16)
        var taken = 0
        #expect(throws: RTMPInboundParser.Malformed.self) {
            // The first chunk of a 1 MiB message on each of 60 chunk streams, then further chunks.
            for round in 0..<16 {
                for id in UInt8(3)..<63 {
                    let header = round == 0 ? [id, 0, 0, 0, 0x10, 0, 0, 20, 1, 0, 0, 0] : [0xC0 | id]
                    let complete = try parser.parse(header + piece)
                    #expect(complete.isEmpty)
                    #expect(parser.heldBytes <= RTMPInboundParser.maximumHeldBytes)
                    taken += piece.count
                }
            }
        }
        #expect(taken <= RTMPInboundParser.maximumHeldBytes)
    }

    @Test("If a server sends invalid bytes, this is reported once, and all bytes are still acknowledged")
    func malformedConversation() {
        var channel = RTMPBackChannel(parser: RTMPInboundParser())
        let window: [UInt8] = [0x02, 0, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 40]
        let emptyChunks: [UInt8] = [0x02, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        _ = channel.take(window)
        #expect(channel.take(emptyChunks).failure == "an impossible chunk size")
        #expect(!channel.owesReplies)
        let answer = channel.take(Self.conversation)
        #expect(answer.messages.isEmpty && answer.failure == nil)
        let replies = channel.takeReplies()
        #expect(replies.map(\.kind) == [.acknowledgement])
    }

    @Test("A server's message of more than 1 MiB is skipped, and the messages after it are parsed")
    func longMessage() throws {
        let piece = [UInt8](repeating: 0xAB, count: 1 << 16)
        // 2 MiB in chunks of 64 KiB on chunk stream 3.
        let chunks: [[UInt8]] = (0..<32).map { round in
            (round == 0 ? [0x03, 0, 0, 0, 0x20, 0, 0, 20, 0, 0, 0, 0] : [0xC3]) + piece
        }
        var parser = RTMPInboundParser(chunkBytes: piece.count)
        parser.limits.skipsLongMessages = true
        for chunk in chunks {
            let messages = try parser.parse(chunk)
            #expect(messages.isEmpty && parser.heldBytes == 0)
        }
        #expect(try parser.parse(Self.conversation).map(\.type) == [5, 4, 20])

        var channel = RTMPBackChannel(parser: RTMPInboundParser(chunkBytes: piece.count))
        for chunk in chunks { #expect(channel.take(chunk).failure == nil) }
        let answer = channel.take(Self.conversation)
        #expect(answer.messages.map(\.code) == ["NetStream.Publish.BadName"])
        #expect(channel.takeReplies().first?.payload.array == [0, 7, 1, 2, 3, 4])
    }

    @Test("A message that is too large, or too many chunk streams, ends the parsing of a server's messages")
    func bounds() {
        var parser = RTMPInboundParser()
        #expect(throws: RTMPInboundParser.Malformed.self) {
            _ = try parser.parse([0x03, 0, 0, 0, 0x20, 0, 0, 20, 0, 0, 0, 0])
        }
        var crowded = RTMPInboundParser()
        #expect(throws: RTMPInboundParser.Malformed.self) {
            for id in 0..<UInt8(66) {
                _ = try crowded.parse([0x00, id, 0, 0, 0, 0, 0, 1, 20, 0, 0, 0, 0, 0xFF])
            }
        }
    }

    @Test("An AMF0 message that is truncated or nested too deep is refused")
    func malformed() {
        for count in 0..<Self.onStatus.count {
            #expect(AMF0Reader.values(Array(Self.onStatus[..<count])).count < 4)
        }
        let deep = [[UInt8]](repeating: [0x03, 0, 1, 0x61], count: 50).flatMap { $0 }
        #expect(AMF0Reader.values(deep).isEmpty)
        #expect(AMF0Reader.values([0x0A, 0xFF, 0xFF, 0xFF, 0xFF]) == [])
    }

    @Test("The key in a server's message is masked before the message is shortened")
    func cutsBehindTheMask() throws {
        var writer = AMF0Writer()
        writer.write("onStatus")
        writer.write(0)
        writer.writeNull()
        writer.writeArray([
            ("level", .string("status")), ("code", .string("C")),
            ("description", .string(String(repeating: "x", count: 190) + "secretkey-123")),
        ])
        let message = try #require(RTMPStatusMessage(command: writer.bytes))
        let words = message.words(masking: try RTMPURL("rtmp://host/live/secretkey-123"))
        #expect(!words.contains("secret") && words.count <= 200)
    }
}
