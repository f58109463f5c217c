// SPDX-License-Identifier: Apache-2.0

/// An aggregate message (Adobe RTMP 1.0, 7.1.6): several messages of one stream, each as an FLV tag.
struct RTMPAggregate {
    private static let headerBytes = 11
    /// Bytes behind each tag, which hold the size of what is in front.
    private static let trailerBytes = 4

    private let streamID: UInt32
    /// What is added to the times of the messages in it.
    private let offset: UInt32
    private var bytes: ArraySlice<UInt8>

    /// The messages in `message`. The first has the time of the whole.
    init(_ message: RTMPInboundParser.Message) {
        streamID = message.streamID
        bytes = message.body[...]
        offset = message.timestamp &- (bytes.count < Self.headerBytes ? 0 : Self.timestamp(bytes))
    }

    /// Bytes that were not taken yet.
    var count: Int { bytes.count }

    /// The next message; nil at the end, and where the bytes are no tag.
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

    /// A tag's time: 24 bits and, behind them, the upper eight (Adobe FLV 10.1, E.4.1).
    private static func timestamp(_ tag: ArraySlice<UInt8>) -> UInt32 {
        let start = tag.startIndex
        return tag[start + 4..<start + 7].reduce(UInt32(tag[start + 7])) { $0 << 8 | UInt32($1) }
    }
}
