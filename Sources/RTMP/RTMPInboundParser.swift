// SPDX-License-Identifier: Apache-2.0

/// Sizes of chunks: the maximum number of bytes of a message between two headers.
enum RTMPChunkSize {
    /// The chunk size at the beginning of a connection, in bytes (Adobe RTMP 1.0, 5.4.1).
    static let initial = 128
    /// The chunk size that we announce, in bytes: the maximum that servers accept, so that a frame has few chunks.
    static let announced = 65_536
}

/// Parses the peer's chunks (Adobe RTMP 1.0, 5.3.1) and assembles messages. It is safe against a hostile peer: it
/// allocates memory only for received bytes, never for announced ones. Chunks can have any size, and can arrive in
/// pieces.
///
/// After an error the parser cannot be used any more.
package struct RTMPInboundParser {
    /// The bytes are not chunks, or would need more memory than the limits allow.
    struct Malformed: Error, Equatable {
        /// The reason for the error, in a few words.
        let reason: String
    }

    /// Limits for the memory that a peer can use.
    struct Limits: Equatable {
        /// Limit for the body of one message, in bytes.
        var messageBytes: Int
        /// Limit for the sum of all partial messages, in bytes.
        var heldBytes: Int
        /// Limit for the number of chunk streams that the peer uses over the whole connection.
        var chunkStreams = 64
        /// Whether a message that is too long is skipped; otherwise it ends the parsing.
        var skipsLongMessages = false

        /// Limits that are sufficient for a connection on which the peer sends only commands.
        static let conversation = Limits(messageBytes: 1 << 20, heldBytes: 2 << 20)
    }

    /// A complete message.
    package struct Message: Equatable {
        let type: UInt8
        /// Timestamp in milliseconds of the sender's clock, modulo 2^32.
        var timestamp: UInt32 = 0
        /// The message stream ID; 0 for messages about the connection.
        var streamID: UInt32 = 0
        let body: [UInt8]
    }

    /// The state of a chunk stream between its chunks.
    struct ChunkStream: Equatable {
        var type: UInt8 = 0
        var length = 0
        /// The timestamp of the incomplete message, or of the last one, in milliseconds.
        var timestamp: UInt32 = 0
        /// The time difference, in milliseconds, that applies if a header has no time.
        var delta: UInt32 = 0
        /// The extended timestamp of the current message, in milliseconds, which headers of type 3 should repeat; nil
        /// if the message has no extended timestamp.
        var extended: UInt32?
        var streamID: UInt32 = 0
        var body: [UInt8] = []
        /// Number of received bytes of a message that is skipped. These bytes are not stored.
        var skipped = 0

        /// The number of bytes of the incomplete message that were received so far.
        var received: Int { body.count + skipped }

        /// Appends bytes to the message's body. The body's memory grows with the received bytes, at most to the
        /// message's length.
        mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
            let needed = body.count + bytes.count
            if needed > body.capacity { body.reserveCapacity(max(needed, min(length, 2 * needed))) }
            body.append(contentsOf: bytes)
        }
    }

    /// Maximum number of buffered bytes, for incomplete messages and a header, with the limits ``Limits/conversation``.
    static let maximumHeldBytes = Limits.conversation.heldBytes + headerBytes
    /// The size of a basic header, a message header and an extended timestamp, in bytes.
    private static let headerBytes = 3 + 11 + 4
    /// If the time in a header has this value, the actual time is in the extended field after the header (5.3.1.3).
    private static let extendedMark: UInt32 = 0xFF_FFFF

    /// The current limits for the peer.
    var limits: Limits
    private(set) var chunkBytes: Int
    /// The peer's chunk streams, in the order of their first use, and their numbers. They are few. In arrays they are
    /// found and changed in place for each chunk of a few bytes, which a dictionary makes several times as expensive.
    private var streams: [ChunkStream]
    private var numbers: [Int]
    /// The bytes of a chunk's header that is not complete yet.
    private var header: [UInt8] = []
    /// The place in ``streams`` of the incomplete chunk's stream, and the number of the chunk's missing bytes.
    private var chunk: (place: Int, remaining: Int)?
    /// The total size of the bodies in `streams`, in bytes.
    private var messageBytes: Int
    /// Whether the peer does not repeat extended timestamps within a message, like an old encoder of Adobe.
    private var omitsExtended = false
    /// Bytes that were read as an extended timestamp but belong to the message's body.
    private var replay: [UInt8] = []

    /// Creates a parser that continues where another reader stopped, with the chunk size and the chunk streams of that
    /// reader. The defaults are those of a new connection.
    init(chunkBytes: Int = RTMPChunkSize.initial, streams: [Int: ChunkStream] = [:], limits: Limits = .conversation) {
        self.chunkBytes = max(1, chunkBytes)
        (self.streams, numbers) = (Array(streams.values), Array(streams.keys))
        self.limits = limits
        messageBytes = streams.values.reduce(0) { $0 + $1.body.count }
    }

    /// Number of bytes that are buffered until more arrive: those of incomplete messages, at most ``Limits/heldBytes``,
    /// and those of an incomplete header.
    var heldBytes: Int { header.count + replay.count + messageBytes }

    /// Parses all of `bytes` and returns the messages that are now complete.
    mutating func parse(_ bytes: some Collection<UInt8>) throws(Malformed) -> [Message] {
        let bytes = Array(bytes)
        var (cursor, messages) = (0, [Message]())
        while let message = try next(in: bytes.span, at: &cursor) { messages.append(message) }
        return messages
    }

    /// Returns the next complete message in `bytes` from `cursor` on, and moves `cursor` past it; nil when all bytes
    /// are used up.
    mutating func next(in bytes: Span<UInt8>, at cursor: inout Int) throws(Malformed) -> Message? {
        if !replay.isEmpty {
            let held = replay
            var position = 0
            replay = []
            let message = try advance(in: held.span, at: &position)
            replay = Array(held[position...])
            if let message { return message }
        }
        return try advance(in: bytes, at: &cursor)
    }

    private mutating func advance(in bytes: Span<UInt8>, at cursor: inout Int) throws(Malformed) -> Message? {
        while true {
            if let (place, remaining) = chunk {
                let count = min(remaining, bytes.count - cursor)
                try append(bytes.extracting(cursor..<cursor + count), to: place)
                cursor += count
                chunk = count == remaining ? nil : (place, remaining - count)
                guard count == remaining else { return nil }
                if let message = try complete(place) { return message }
            }
            guard cursor < bytes.count else { return nil }
            header.append(bytes[cursor])
            cursor += 1
            try beginChunk()
            if !replay.isEmpty { return try next(in: bytes, at: &cursor) }
        }
    }

    private mutating func append(_ bytes: Span<UInt8>, to place: Int) throws(Malformed) {
        if limits.skipsLongMessages, streams[place].length > limits.messageBytes {
            streams[place].skipped += bytes.count
            return
        }
        guard messageBytes + bytes.count <= limits.heldBytes else {
            throw Malformed(reason: "incomplete messages of more than \(limits.heldBytes) bytes")
        }
        messageBytes += bytes.count
        bytes.withUnsafeBufferPointer { streams[place].append($0) }
    }

    /// Returns the message of the chunk stream at `place`, if its body is complete and was not skipped. The messages
    /// Set Chunk Size and Abort are carried out here and not returned.
    private mutating func complete(_ place: Int) throws(Malformed) -> Message? {
        guard streams[place].received == streams[place].length else { return nil }
        let stream = streams[place]
        discard(place)
        guard stream.skipped == 0 else { return nil }
        switch stream.type {
        case 1: try setChunkSize(stream.body)
        case 2: if let place = Self.number(stream.body).flatMap(numbers.firstIndex) { discard(place) }
        default:
            return Message(type: stream.type, timestamp: stream.timestamp, streamID: stream.streamID, body: stream.body)
        }
        return nil
    }

    /// Carries out the message Set Chunk Size (5.4.1).
    private mutating func setChunkSize(_ body: [UInt8]) throws(Malformed) {
        guard let size = Self.number(body), (1...0x7FFF_FFFF).contains(size) else {
            throw Malformed(reason: "an impossible chunk size")
        }
        chunkBytes = size
    }

    private static func number(_ body: [UInt8]) -> Int? {
        body.count < 4 ? nil : body.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    /// Discards the incomplete message of the chunk stream at `place`.
    private mutating func discard(_ place: Int) {
        messageBytes -= streams[place].body.count
        streams[place].body = []
        streams[place].skipped = 0
    }
}

extension RTMPInboundParser {
    /// Begins the chunk if the byte that was just added completes its header.
    private mutating func beginChunk() throws(Malformed) {
        guard let (id, start) = chunkStreamID else { return }
        let format = header[0] >> 6
        let end = start + Self.messageHeaderBytes(format)
        guard header.count >= end else { return }
        let known = numbers.firstIndex(of: id)
        guard known != nil || streams.count < limits.chunkStreams else {
            throw Malformed(reason: "more than \(limits.chunkStreams) chunk streams")
        }
        // Nearly all headers of a sender with small chunks only continue a message, and change nothing.
        if let known, format == 3, streams[known].extended == nil, streams[known].received > 0 {
            return try beginChunk(at: known)
        }
        var stream = known.map { streams[$0] } ?? ChunkStream()
        if format < 3 {
            let time = integer(at: start, bytes: 3)
            let isExtended = time == Self.extendedMark
            guard !isExtended || header.count == end + 4 else { return }
            stream.extended = isExtended ? integer(at: end, bytes: 4) : nil
            if let known { discard(known) }
            (stream.body, stream.skipped) = ([], 0)
            take(format, start, time: stream.extended ?? time, into: &stream)
        } else {
            guard try repeats(&stream, from: end) else { return }
        }
        if let known {
            streams[known] = stream
        } else {
            streams.append(stream)
            numbers.append(id)
        }
        try beginChunk(at: known ?? streams.count - 1)
    }

    /// Begins the chunk of the chunk stream at `place`, whose header is complete.
    private mutating func beginChunk(at place: Int) throws(Malformed) {
        header.removeAll(keepingCapacity: true)
        let (length, received) = (streams[place].length, streams[place].received)
        guard length <= limits.messageBytes || limits.skipsLongMessages else {
            throw Malformed(reason: "a message of \(length) bytes, where \(limits.messageBytes) are the most")
        }
        chunk = (place, min(chunkBytes, length - received))
    }

    /// The size of a message header of this type, without the extended timestamp, in bytes (5.3.1.2).
    private static func messageHeaderBytes(_ format: UInt8) -> Int {
        switch format {
        case 0: 11
        case 1: 7
        case 2: 3
        default: 0
        }
    }

    /// Reads the fields of a header of type 0, 1 or 2 (5.3.1.2).
    private func take(_ format: UInt8, _ start: Int, time: UInt32, into stream: inout ChunkStream) {
        stream.delta = time
        stream.timestamp = format == 0 ? time : stream.timestamp &+ time
        guard format < 2 else { return }
        stream.length = Int(integer(at: start + 3, bytes: 3))
        stream.type = header[start + 6]
        // The message stream ID is in little-endian order, as the only number of the protocol.
        if format == 0 { stream.streamID = integer(at: start + 7, bytes: 4).byteSwapped }
    }

    /// Reads a header of type 3. If the header has an extended timestamp, the timestamp begins at `end`. Returns false
    /// if bytes are missing.
    ///
    /// Each chunk should repeat the extended timestamp, but some peers do not. If the four bytes differ from the
    /// message's extended timestamp, they belong to the body.
    private mutating func repeats(_ stream: inout ChunkStream, from end: Int) throws(Malformed) -> Bool {
        let isContinued = stream.received > 0
        if let extended = stream.extended, !omitsExtended {
            guard header.count == end + 4 else { return false }
            let value = integer(at: end, bytes: 4)
            if !isContinued {
                stream.extended = value
                stream.delta = value
            } else if value != extended {
                omitsExtended = true
                replay = Array(header[end...])
            }
        }
        // A header of type 3 that begins a new message gives it the time difference of the last message of this chunk
        // stream.
        if !isContinued { stream.timestamp &+= stream.delta }
        return true
    }

    /// The number in a basic header of one to three bytes, and the position of the message header (5.3.1.1); nil if
    /// bytes are missing.
    private var chunkStreamID: (id: Int, end: Int)? {
        let low = Int(header[0] & 0x3F)
        if low > 1 { return (low, 1) }
        guard header.count > 1 + low else { return nil }
        return low == 0 ? (64 + Int(header[1]), 2) : (64 + Int(header[1]) + Int(header[2]) << 8, 3)
    }

    private func integer(at start: Int, bytes: Int) -> UInt32 {
        header[start..<start + bytes].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
