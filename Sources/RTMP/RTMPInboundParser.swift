// SPDX-License-Identifier: Apache-2.0

/// Reads the server's half of the conversation (Adobe RTMP 1.0, 5.3.1), bounded against a hostile server.
package struct RTMPInboundParser {
    /// The bytes are no chunks, or ask for more memory than the conversation can need.
    struct Malformed: Error {}

    /// A complete message.
    struct Message: Equatable {
        let type: UInt8
        let body: [UInt8]
    }

    /// What a chunk stream remembers between its chunks.
    struct ChunkStream: Equatable {
        var type: UInt8 = 0
        var length = 0
        var hasExtendedTimestamp = false
        var body: [UInt8] = []
    }

    private static let maximumMessageBytes = 1 << 20
    private static let maximumChunkStreams = 64
    /// Of messages that are not complete, and of one chunk with its header that is not.
    static let maximumHeldBytes = 3 * maximumMessageBytes + 18

    private(set) var chunkBytes: Int
    private var streams: [Int: ChunkStream]
    private var buffer: [UInt8] = []

    /// A parser that goes on where somebody else stopped reading, with the chunk size and streams known by then.
    init(chunkBytes: Int = 128, streams: [Int: ChunkStream] = [:]) {
        self.chunkBytes = max(1, chunkBytes)
        self.streams = streams
    }

    /// How many bytes are kept until more comes; after each call at most ``maximumHeldBytes``.
    var heldBytes: Int { buffer.count + messageBytes }
    private var messageBytes: Int { streams.values.reduce(0) { $0 + $1.body.count } }

    /// Takes `bytes` and returns the messages that are complete now. After an error the parser is of no use.
    mutating func parse(_ bytes: some Collection<UInt8>) throws(Malformed) -> [Message] {
        buffer += bytes
        var messages: [Message] = []
        var cursor = 0
        while let end = try parseChunk(at: cursor, into: &messages) { cursor = end }
        buffer.removeFirst(cursor)
        return messages
    }

    /// Reads the chunk at `start` if all of it is there, and returns where the next begins.
    private mutating func parseChunk(at start: Int, into messages: inout [Message]) throws(Malformed) -> Int? {
        guard case (let id, var cursor)? = chunkStreamID(at: start) else { return nil }
        let format = buffer[start] >> 6
        var stream = streams[id] ?? ChunkStream()
        guard streams[id] != nil || streams.count < Self.maximumChunkStreams else { throw Malformed() }
        let headerBytes = [11, 7, 3, 0][Int(format)]
        guard buffer.count >= cursor + headerBytes else { return nil }
        if format < 3 {
            stream.hasExtendedTimestamp = integer(at: cursor, bytes: 3) == 0xFF_FFFF
            stream.body = []
        }
        if format < 2 {
            stream.length = integer(at: cursor + 3, bytes: 3)
            stream.type = buffer[cursor + 6]
        }
        cursor += headerBytes + (stream.hasExtendedTimestamp ? 4 : 0)
        guard stream.length <= Self.maximumMessageBytes else { throw Malformed() }
        let count = min(chunkBytes, stream.length - stream.body.count)
        guard buffer.count >= cursor + count else { return nil }
        stream.body += buffer[cursor..<cursor + count]
        if stream.body.count == stream.length {
            try complete(Message(type: stream.type, body: stream.body), into: &messages)
            stream.body = []
        }
        streams[id] = stream
        guard messageBytes <= 2 * Self.maximumMessageBytes else { throw Malformed() }
        return cursor + count
    }

    /// The number in a basic header of one to three bytes, and where the message header begins (5.3.1.1).
    private func chunkStreamID(at start: Int) -> (Int, Int)? {
        guard start < buffer.count else { return nil }
        let low = Int(buffer[start] & 0x3F)
        if low > 1 { return (low, start + 1) }
        guard start + 1 + low < buffer.count else { return nil }
        return low == 0
            ? (64 + Int(buffer[start + 1]), start + 2)
            : (64 + Int(buffer[start + 1]) + Int(buffer[start + 2]) << 8, start + 3)
    }

    private func integer(at start: Int, bytes: Int) -> Int {
        buffer[start..<start + bytes].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Obeys what concerns the chunks themselves, and passes on the rest.
    private mutating func complete(_ message: Message, into messages: inout [Message]) throws(Malformed) {
        guard message.type == 1 || message.type == 2 else {
            messages.append(message)
            return
        }
        guard message.body.count >= 4 else { throw Malformed() }
        let value = message.body.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        if message.type == 2 {
            streams[value]?.body = []
        } else {
            guard (1...0x7FFF_FFFF).contains(value) else { throw Malformed() }
            chunkBytes = min(value, Self.maximumMessageBytes)
        }
    }
}
