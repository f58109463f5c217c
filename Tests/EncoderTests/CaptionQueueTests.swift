// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Encoder

/// Captions in coded frames.
@Suite struct CaptionQueueTests {
    private let head: [UInt8] = [0xB5, 0x00, 0x31, 0x47, 0x41, 0x39, 0x34, 0x03]

    @Test("A frame's captions become one A/53 message, and a frame without captions gets no message")
    func message() {
        var queue = CaptionQueue()
        #expect(queue.message(adding: []) == nil)
        #expect(queue.message(adding: [0xFC, 1, 2, 0xFD, 3, 4]) == head + [0x42, 0xFF, 0xFC, 1, 2, 0xFD, 3, 4, 0xFF])
        #expect(queue.message(adding: []) == nil)
    }

    @Test("Captions that exceed one message are sent with the next frames; beyond a limit the oldest are dropped")
    func overflow() {
        var queue = CaptionQueue()
        let runs = (0..<70).flatMap { [0xFC, UInt8($0), 0] as [UInt8] }
        let messages = [runs, [], [], []].map { queue.message(adding: $0) }
        #expect(messages.map { $0.map { Int($0[8] & 0x1F) } } == [31, 31, 8, nil])
        #expect(messages.compactMap(\.self).flatMap { Array($0.dropFirst(10).dropLast()) } == runs)
        _ = queue.message(adding: [UInt8](repeating: 0xFC, count: 1_000_002))
        var count = 0
        while queue.message(adding: []) != nil { count += 1 }
        #expect(count == 99)
    }
}
