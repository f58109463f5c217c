// SPDX-License-Identifier: Apache-2.0

/// Reads server-sent events (HTML Living Standard, 9.2.6) from bytes as they arrive.
struct EventStreamParser {
    /// One message of the event stream.
    struct Message: Equatable {
        /// The message's type; `message` if the sender gives none.
        var event = "message"
        var data = ""
        /// The message's number; nil if the sender gives none.
        var id: String?
    }

    /// The maximum length of a line in bytes; the rest of a longer line is ignored. relay's events are shorter.
    private static let longestLine = 4 << 20

    private var line: [UInt8] = []
    private var message = Message()

    /// Parses `bytes`, and returns the messages that are now complete.
    mutating func take(_ bytes: [UInt8]) -> [Message] {
        var messages: [Message] = []
        for byte in bytes where byte != UInt8(ascii: "\r") {
            guard byte == UInt8(ascii: "\n") else {
                if line.count < Self.longestLine { line.append(byte) }
                continue
            }
            if line.isEmpty {
                if !message.data.isEmpty { messages.append(message) }
                message = Message()
            } else {
                read(String(decoding: line, as: UTF8.self))
            }
            line.removeAll(keepingCapacity: true)
        }
        return messages
    }

    private mutating func read(_ line: String) {
        let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = sides.count > 1 ? sides[1].drop { $0 == " " } : ""
        switch sides[0] {
        case "event": message.event = String(value)
        case "data": message.data += (message.data.isEmpty ? "" : "\n") + value
        case "id": message.id = String(value)
        // Other lines are ignored; a line that begins with a colon is a comment.
        default: break
        }
    }
}
