// SPDX-License-Identifier: Apache-2.0

/// Encodes the server's messages for the wire, each with a full header.
struct RTMPAnswers {
    /// The content of an `onStatus` or an `_error`, and a part of the answer to `connect`.
    struct Status {
        let level: String
        let code: String
        let description: String

        static func success(_ code: String, _ description: String) -> Status {
            Status(level: "status", code: code, description: description)
        }

        static func error(_ code: String, _ description: String) -> Status {
            Status(level: "error", code: code, description: description)
        }

        var properties: [(String, AMF0Value)] {
            [("level", .string(level)), ("code", .string(code)), ("description", .string(description))]
        }
    }

    /// Events of User Control messages (7.1.7).
    enum UserEvent {
        static let streamBegin: UInt16 = 0
        static let streamEnd: UInt16 = 1
        static let pingRequest: UInt16 = 6
        static let pingResponse: UInt16 = 7
    }

    /// The acknowledgement window that we announce, in bytes. Clients send acknowledgements, but nothing depends on
    /// them.
    static let windowBytes: UInt32 = 2_500_000
    /// The codecs that we announce to Enhanced RTMP clients, each with the flag "can forward".
    static let videoFourCCs = FLVVideo.Codec.allCases.map(\.rawValue)
    static let audioFourCCs = FLVAudio.Codec.allCases.map(\.rawValue)
    private static let canForward = 4.0

    private(set) var bytes: [UInt8] = []

    /// Returns the bytes written since the last call.
    mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Appends raw bytes, which belong to the handshake.
    mutating func append(_ raw: [UInt8]) { bytes += raw }

    /// Announces windows and chunk size, before the answer to `connect`.
    mutating func announce() {
        control(5, Self.windowBytes)
        message(type: 6, chunkStream: 2, stream: 0, body: Self.bigEndian(Self.windowBytes) + [2])
        control(1, UInt32(RTMPChunkSize.announced))
    }

    mutating func acknowledge(_ count: Int) { control(3, UInt32(truncatingIfNeeded: count)) }
    mutating func announceWindow() { control(5, Self.windowBytes) }

    /// Writes a User Control message; `body` is four bytes.
    mutating func user(_ event: UInt16, _ body: some Sequence<UInt8>) {
        message(type: 4, chunkStream: 2, stream: 0, body: [UInt8(event >> 8), UInt8(event & 0xFF)] + body)
    }

    mutating func user(_ event: UInt16, stream: UInt32) { user(event, Self.bigEndian(stream)) }

    /// Writes the answer to `connect`.
    mutating func connected(transaction: Double, encoding: Double, capabilities: RTMPCapabilities) {
        var server: [(String, AMF0Value)] = [("fmsVer", .string("FMS/3,0,1,123")), ("capabilities", .number(31))]
        if capabilities.isEnhanced {
            server += [
                ("fourCcList", .array((Self.videoFourCCs + Self.audioFourCCs).map { .string($0) })),
                ("videoFourCcInfoMap", Self.map(Self.videoFourCCs)),
                ("audioFourCcInfoMap", Self.map(Self.audioFourCCs)), ("capsEx", .number(0)),
            ]
        }
        let status = Status.success("NetConnection.Connect.Success", "Connection succeeded.")
        var writer = AMF0Writer()
        writer.write("_result")
        writer.write(transaction)
        writer.writeObject(server)
        writer.writeObject(status.properties + [("objectEncoding", .number(encoding))])
        command(writer, stream: 0)
    }

    private static func map(_ fourCCs: [String]) -> AMF0Value {
        .object(Dictionary(uniqueKeysWithValues: fourCCs.map { ($0, .number(canForward)) }))
    }

    /// Writes a `_result`, with the number `value` or without a value.
    mutating func result(transaction: Double, _ value: Double? = nil) {
        var writer = AMF0Writer()
        writer.write("_result")
        writer.write(transaction)
        writer.writeNull()
        if let value { writer.write(value) } else { writer.writeNull() }
        command(writer, stream: 0)
    }

    /// Writes `_error`, the answer to a command that failed.
    mutating func error(transaction: Double, _ status: Status) {
        var writer = AMF0Writer()
        writer.write("_error")
        writer.write(transaction)
        writer.writeNull()
        writer.writeObject(status.properties)
        command(writer, stream: 0)
    }

    /// Writes `onStatus` on the message stream that the status concerns.
    mutating func status(_ status: Status, stream: UInt32) {
        var writer = AMF0Writer()
        writer.write("onStatus")
        writer.write(0)
        writer.writeNull()
        writer.writeObject(status.properties)
        command(writer, stream: stream)
    }

    /// Writes `|RtmpSampleAccess`, without which Flash players refuse to play the stream.
    mutating func allowSampleAccess(stream: UInt32) {
        var writer = AMF0Writer()
        writer.write("|RtmpSampleAccess")
        writer.write(true)
        writer.write(true)
        message(type: 18, chunkStream: 5, stream: stream, body: writer.bytes)
    }

    private mutating func command(_ writer: AMF0Writer, stream: UInt32) {
        message(type: 20, chunkStream: stream == 0 ? 3 : 5, stream: stream, body: writer.bytes)
    }

    private mutating func control(_ type: UInt8, _ value: UInt32) {
        message(type: type, chunkStream: 2, stream: 0, body: Self.bigEndian(value))
    }

    /// Writes a message as one chunk. All messages of the server are shorter than the chunk size that it announces
    /// first.
    private mutating func message(type: UInt8, chunkStream: UInt8, stream: UInt32, body: [UInt8]) {
        let count = UInt32(body.count)
        bytes += [chunkStream, 0, 0, 0, UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type]
        bytes += Self.bigEndian(stream).reversed()
        bytes += body
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
    }
}
