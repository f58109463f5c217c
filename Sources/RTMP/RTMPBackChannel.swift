// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Parses the bytes that the server or the player sends while the stream is on air, and queues the necessary replies.
/// Not thread-safe.
package struct RTMPBackChannel {
    /// The result of parsing.
    package struct Answer {
        /// The server's status messages, in order.
        package var messages: [RTMPStatusMessage] = []
        /// The player's commands, in order.
        package var wishes: [RTMPPlayerCommand] = []
        /// Why the peer's bytes cannot be parsed any more; set only in the answer to the first invalid bytes.
        package var failure: String?
    }

    /// The stream to which a player's commands refer; nil if each command refers to the stream on air.
    private let running: RTMPRunningStream?
    private var parser: RTMPInboundParser?
    private var waiting: [UInt8]
    private var received: Int
    private var acknowledged: Int
    /// Number of bytes after which the peer expects an acknowledgement (Adobe RTMP 1.0, 5.4.4). Until the peer sets
    /// this window, a common value is used.
    private var window = 2_500_000
    /// Replies to send, at most one message of each kind.
    private var owed: [RTMPMessage] = []

    init(
        parser: RTMPInboundParser, unread: [UInt8] = [], receivedBytes: Int = 0, running: RTMPRunningStream? = nil
    ) {
        self.running = running
        var parser = parser
        // Long messages are skipped, because no message that this parser handles is long.
        parser.limits.skipsLongMessages = true
        self.parser = parser
        waiting = unread
        received = receivedBytes
        acknowledged = receivedBytes
    }

    /// The bytes that were received before this object was created. Only the first call returns them.
    package mutating func unread() -> [UInt8] {
        defer { waiting = [] }
        return waiting
    }

    /// Parses `bytes`. Invalid bytes end the parsing, and ``Answer/failure`` reports that. They do not end the output,
    /// because media can be sent even if nothing is parsed. A message that is too long is skipped. `isCounted` must be
    /// false for the bytes of ``unread()``, which the number of received bytes already includes.
    package mutating func take(_ bytes: [UInt8], isCounted: Bool = true) -> Answer {
        var answer = Answer()
        if isCounted { received += bytes.count }
        do throws(RTMPInboundParser.Malformed) {
            for message in try parser?.parse(bytes) ?? [] { handle(message, into: &answer) }
        } catch {
            parser = nil
            answer.failure = error.reason
        }
        if received - acknowledged >= window {
            acknowledged = received
            owe(Self.control(.acknowledgement, UInt32(truncatingIfNeeded: received)))
        }
        return answer
    }

    /// Whether there are replies to send to the peer.
    package var owesReplies: Bool { !owed.isEmpty }

    /// Returns the replies to send. Call it only when there is room to send them.
    package mutating func takeReplies() -> [RTMPMessage] {
        defer { owed = [] }
        return owed
    }

    /// Adds a reply. The reply replaces an older, unsent reply of the same kind. So a peer that sends requests without
    /// reading the replies cannot fill the memory. An older acknowledgement is not needed, because each one counts all
    /// bytes since the beginning of the connection.
    private mutating func owe(_ message: RTMPMessage) {
        owed.removeAll { $0.kind == message.kind }
        owed.append(message)
    }

    private mutating func handle(_ message: RTMPInboundParser.Message, into answer: inout Answer) {
        let body = message.body
        switch message.type {
        case 4:  // User Control: event 6 is a ping, 7 its reply with the same time (7.1.7)
            guard body.count >= 6, body[0] == 0, body[1] == 6 else { return }
            owe(RTMPMessage(kind: .userControl, payload: SharedBytes([0, 7] + body[2..<6])))
        case 5:
            guard body.count >= 4 else { return }
            window = max(1, body.prefix(4).reduce(0) { $0 << 8 | Int($1) })
        case 6:  // the reply to Set Peer Bandwidth is our window size (5.4.5)
            guard body.count >= 4 else { return }
            owe(RTMPMessage(kind: .windowSize, payload: SharedBytes(body.prefix(4))))
        case 20: append(command: body, on: message.streamID, to: &answer)
        case 17: append(command: Array(body.dropFirst()), on: message.streamID, to: &answer)
        default: break
        }
    }

    private func append(command: [UInt8], on stream: UInt32, to answer: inout Answer) {
        if let message = RTMPStatusMessage(command: command) { answer.messages.append(message) }
        if let wish = RTMPPlayerCommand(command: command, on: stream, running: running) { answer.wishes.append(wish) }
    }

    private static func control(_ kind: RTMPMessage.Kind, _ value: UInt32) -> RTMPMessage {
        RTMPMessage(kind: kind, payload: SharedBytes(count: 4) { $0.storeBigEndian(value, bytes: 4, at: 0) })
    }
}
