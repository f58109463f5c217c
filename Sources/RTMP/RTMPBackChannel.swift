// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Reads what the server, or the player, sends while the stream is on air, and keeps what must be sent in return. Not
/// thread-safe.
package struct RTMPBackChannel {
    /// What follows from received bytes.
    package struct Answer {
        /// What the server says, in order.
        package var messages: [RTMPStatusMessage] = []
        /// What the player wants, in order.
        package var wishes: [RTMPPlayerCommand] = []
    }

    private var parser: RTMPInboundParser?
    private var waiting: [UInt8]
    private var received: Int
    private var acknowledged: Int
    /// Bytes after which the server wants an acknowledgement (Adobe RTMP 1.0, 5.4.4); the usual value until it says.
    private var window = 2_500_000
    /// What must be sent, at most one message of each kind.
    private var owed: [RTMPMessage] = []

    /// Goes on where librtmp stopped reading.
    package init(handover: RTMPSession.Handover) {
        self.init(parser: handover.parser, unread: handover.unread, receivedBytes: handover.receivedBytes)
    }

    init(parser: RTMPInboundParser, unread: [UInt8] = [], receivedBytes: Int = 0) {
        self.parser = parser
        waiting = unread
        received = receivedBytes
        acknowledged = receivedBytes
    }

    /// What was received before this object was made; once.
    package mutating func unread() -> [UInt8] {
        defer { waiting = [] }
        return waiting
    }

    /// Takes `bytes`. What cannot be parsed ends the parsing, not the output: the media does not depend on it.
    package mutating func take(_ bytes: [UInt8], isCounted: Bool = true) -> Answer {
        var answer = Answer()
        if isCounted { received += bytes.count }
        do {
            for message in try parser?.parse(bytes) ?? [] { handle(message, into: &answer) }
        } catch {
            parser = nil
        }
        if received - acknowledged >= window {
            acknowledged = received
            owe(Self.control(.acknowledgement, UInt32(truncatingIfNeeded: received)))
        }
        return answer
    }

    /// Whether something must be sent.
    package var owesReplies: Bool { !owed.isEmpty }

    /// What must be sent: each once, whenever there is room.
    package mutating func takeReplies() -> [RTMPMessage] {
        defer { owed = [] }
        return owed
    }

    /// The newest of its kind takes the place of an older one that could not be sent: an acknowledgement counts from the
    /// beginning, and a server that asks and does not read must not fill the memory.
    private mutating func owe(_ message: RTMPMessage) {
        owed.removeAll { $0.kind == message.kind }
        owed.append(message)
    }

    private mutating func handle(_ message: RTMPInboundParser.Message, into answer: inout Answer) {
        let body = message.body
        switch message.type {
        case 4:  // User Control: event 6 is a ping, 7 its answer with the same time (7.1.7)
            guard body.count >= 6, body[0] == 0, body[1] == 6 else { return }
            owe(RTMPMessage(kind: .userControl, payload: SharedBytes([0, 7] + body[2..<6])))
        case 5:
            guard body.count >= 4 else { return }
            window = max(1, body.prefix(4).reduce(0) { $0 << 8 | Int($1) })
        case 6:  // Set Peer Bandwidth is answered with our window (5.4.5)
            guard body.count >= 4 else { return }
            owe(RTMPMessage(kind: .windowSize, payload: SharedBytes(body.prefix(4))))
        case 20: append(command: body, to: &answer)
        case 17: append(command: Array(body.dropFirst()), to: &answer)
        default: break
        }
    }

    private func append(command: [UInt8], to answer: inout Answer) {
        if let message = RTMPStatusMessage(command: command) { answer.messages.append(message) }
        if let wish = RTMPPlayerCommand(command: command) { answer.wishes.append(wish) }
    }

    private static func control(_ kind: RTMPMessage.Kind, _ value: UInt32) -> RTMPMessage {
        RTMPMessage(kind: kind, payload: SharedBytes(count: 4) { $0.storeBigEndian(value, bytes: 4, at: 0) })
    }
}
