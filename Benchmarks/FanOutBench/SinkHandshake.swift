// SPDX-License-Identifier: Apache-2.0

/// The server's side of RTMP up to publishing, as far as a well-behaved publisher needs it. It finds the commands that
/// need an answer by their names, and does not parse chunks. Pure.
struct SinkHandshake {
    private static let blockBytes = 1536

    private var received: [UInt8] = []
    private var wantsFirst = true
    private var wantsSecond = true
    private var answered = 0
    /// Whether the stream was accepted, so that media follows.
    private(set) var isPublishing = false

    /// Processes the received bytes and returns the answer.
    mutating func take(_ bytes: some Collection<UInt8>) -> [UInt8] {
        received += bytes
        var answer: [UInt8] = []
        if wantsFirst {
            guard received.count > Self.blockBytes else { return [] }
            // S0, S1, and a copy of C1 as S2 (Adobe RTMP 1.0, 5.2).
            answer = [3] + [UInt8](repeating: 0, count: Self.blockBytes) + received[1...Self.blockBytes]
            received.removeFirst(1 + Self.blockBytes)
            wantsFirst = false
        }
        if wantsSecond {
            guard received.count >= Self.blockBytes else { return answer }
            received.removeFirst(Self.blockBytes)
            wantsSecond = false
        }
        let commands = ["connect", "createStream", "publish"]
        while answered < commands.count, let transaction = transaction(of: commands[answered]) {
            answer += Self.answer(answered, transaction)
            answered += 1
        }
        isPublishing = answered == commands.count
        return answer
    }

    /// The transaction number of the received command `name`: an AMF0 number with its marker.
    private func transaction(of name: String) -> [UInt8]? {
        let pattern = Self.text(name)
        let last = received.count - pattern.count - 9
        guard last >= 0 else { return nil }
        let found = (0...last).first { received[$0] == 2 && received[$0..<$0 + pattern.count].elementsEqual(pattern) }
        return found.map { Array(received[($0 + pattern.count)..<($0 + pattern.count + 9)]) }
    }

    private static func answer(_ index: Int, _ transaction: [UInt8]) -> [UInt8] {
        let null: [UInt8] = [5]
        switch index {
        case 0:
            // Our chunks are larger than the protocol's default of 128 bytes, so that no message is split.
            let size = message(channel: 2, kind: 1, stream: 0, [0, 0, 16, 0])
            let result = text("_result") + transaction + null + status("NetConnection.Connect.Success")
            return size + message(channel: 3, kind: 20, stream: 0, result)
        case 1:
            let one: [UInt8] = [0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0]
            return message(channel: 3, kind: 20, stream: 0, text("_result") + transaction + null + one)
        default:
            let zero = [UInt8](repeating: 0, count: 9)
            let result = text("onStatus") + zero + null + status("NetStream.Publish.Start")
            return message(channel: 5, kind: 20, stream: 1, result)
        }
    }

    private static func status(_ code: String) -> [UInt8] {
        [3] + text("level").dropFirst() + text("status") + text("code").dropFirst() + text(code) + [0, 0, 9]
    }

    private static func text(_ text: String) -> [UInt8] { [2, 0, UInt8(text.utf8.count)] + text.utf8 }

    private static func message(channel: UInt8, kind: UInt8, stream: UInt8, _ body: [UInt8]) -> [UInt8] {
        [channel, 0, 0, 0, 0, UInt8(body.count >> 8), UInt8(body.count & 0xFF), kind, stream, 0, 0, 0] + body
    }
}
