// SPDX-License-Identifier: Apache-2.0

/// An aggregate message (Adobe RTMP 1.0, 7.1.6): several messages of one stream, each as an FLV tag.
struct RTMPAggregate {
    private static let headerBytes = 11
    /// The size of the field after each tag that contains the tag's size, in bytes.
    private static let trailerBytes = 4

    private let streamID: UInt32
    /// The offset, in milliseconds, that is added to the times of the inner messages.
    private let offset: UInt32
    private var bytes: ArraySlice<UInt8>

    /// Splits `message`. Its first inner message gets the time of the whole message.
    init(_ message: RTMPInboundParser.Message) {
        streamID = message.streamID
        bytes = message.body[...]
        offset = message.timestamp &- (bytes.count < Self.headerBytes ? 0 : Self.timestamp(bytes))
    }

    /// Number of bytes of the aggregate that were not read yet.
    var count: Int { bytes.count }

    /// Returns the next inner message; nil at the end, or if the bytes are not a tag.
    mutating func next() -> RTMPInboundParser.Message? {
        guard bytes.count >= Self.headerBytes else { return nil }
        let start = bytes.startIndex
        let length = bytes[start + 1..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= Self.headerBytes + length else {
            bytes = []
            return nil
        }
        let body = bytes[start + Self.headerBytes..<start + Self.headerBytes + length]
        let message = RTMPInboundParser.Message(
            type: bytes[start], timestamp: offset &+ Self.timestamp(bytes), streamID: streamID, body: Array(body))
        bytes = bytes.dropFirst(Self.headerBytes + length + Self.trailerBytes)
        return message
    }

    /// A tag's time: the lower 24 bits, followed by the upper eight (Adobe FLV 10.1, E.4.1).
    private static func timestamp(_ tag: ArraySlice<UInt8>) -> UInt32 {
        let start = tag.startIndex
        return tag[start + 4..<start + 7].reduce(UInt32(tag[start + 7])) { $0 << 8 | UInt32($1) }
    }
}
