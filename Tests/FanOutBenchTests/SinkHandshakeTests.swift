// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FanOutBench

@Suite("The RTMP server of the fan-out benchmark")
struct SinkHandshakeTests {
    private static let number: [UInt8] = [0, 0x40, 0x10, 0, 0, 0, 0, 0, 0]

    private func command(_ name: String) -> [UInt8] { [2, 0, UInt8(name.utf8.count)] + name.utf8 + Self.number }

    @Test(
        "The benchmark's RTMP server answers each step of a handshake, wherever the bytes are split",
        arguments: [1, 7, 100_000])
    func answers(cut: Int) {
        var sink = SinkHandshake()
        let first = [3] + (0..<1536).map { UInt8(truncatingIfNeeded: $0) }
        let bytes =
            first + [UInt8](repeating: 9, count: 1536) + command("connect") + command("FCPublish")
            + command("createStream") + command("publish")
        var answer: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: cut) {
            #expect(!sink.isPublishing)
            answer += sink.take(bytes[start..<min(bytes.count, start + cut)])
        }
        #expect(sink.isPublishing)
        #expect(answer[0] == 3)
        #expect(Array(answer[1537..<3073]) == Array(first[1...]))
        let text = String(decoding: answer[3073...], as: Unicode.ASCII.self)
        #expect(text.contains("NetConnection.Connect.Success"))
        #expect(text.contains("NetStream.Publish.Start"))
    }
}
