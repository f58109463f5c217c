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

    /// The maximum length of a line, and of the data of a message, in bytes. The rest of a longer one is ignored.
    private let longest: Int
    private var line: [UInt8] = []
    private var message = Message()
    /// The lines of the message's data, each with a line feed at its end.
    private var data: [UInt8] = []
    /// Whether the last byte was a carriage return. A line feed that follows belongs to the same end of a line.
    private var isAfterReturn = false

    /// A parser of a new event stream. relay's events are shorter than 4 MiB.
    init(longest: Int = 4 << 20) { self.longest = longest }

    /// Parses `bytes`, and returns the messages that are now complete.
    mutating func take(_ bytes: [UInt8]) -> [Message] {
        var messages: [Message] = []
        for byte in bytes {
            let wasAfterReturn = isAfterReturn
            isAfterReturn = byte == UInt8(ascii: "\r")
            switch byte {
            case UInt8(ascii: "\n") where wasAfterReturn: break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): if let message = endLine() { messages.append(message) }
            default: if line.count < longest { line.append(byte) }
            }
        }
        return messages
    }

    /// Ends the present line. Returns the message if the line is empty, and so ends a message with data.
    private mutating func endLine() -> Message? {
        defer { line.removeAll(keepingCapacity: true) }
        guard line.isEmpty else {
            read(line)
            return nil
        }
        defer { (message, data) = (Message(), []) }
        guard !data.isEmpty else { return nil }
        message.data = String(decoding: data.dropLast(), as: UTF8.self)
        return message
    }

    private mutating func read(_ line: [UInt8]) {
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropFirst(name.count + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: name, as: UTF8.self) {
        case "event": message.event = value.isEmpty ? "message" : String(decoding: value, as: UTF8.self)
        case "data": if data.count < longest { data += value.prefix(longest - data.count - 1) + [UInt8(ascii: "\n")] }
        // By the standard, a number with a null character is ignored.
        case "id": if !value.contains(0) { message.id = String(decoding: value, as: UTF8.self) }
        // Other lines are ignored; a line that begins with a colon is a comment.
        default: break
        }
    }
}
