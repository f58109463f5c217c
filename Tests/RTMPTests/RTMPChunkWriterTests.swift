// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Media
import Networking
import PacketSamples
import TestSupport
import Testing

@testable import RTMP

@Suite struct RTMPChunkWriterTests {
    private func message(_ timestamp: Int64, bytes: Int) -> RTMPMessage {
        RTMPMessage(
            kind: .video, timestamp: timestamp,
            prefix: .video(isKeyframe: true, packetType: 1, compositionTime: -2),
            payload: SharedBytes([UInt8](repeating: 0xAB, count: bytes)), endsFrame: true)
    }

    @Test("The first message of an RTMP chunk stream has a full header, and the next one a time difference")
    func headers() {
        var writer = RTMPChunkWriter(streamID: 0x0102)
        var buffer = OutboundBuffer()
        writer.append(message(0x010203, bytes: 1), to: &buffer)
        #expect(
            buffer.bytes == [
                0x06, 1, 2, 3, 0, 0, 6, 9, 2, 1, 0, 0, 0x17, 1, 0xFF, 0xFF, 0xFE, 0xAB,
            ])
        buffer = OutboundBuffer()
        writer.append(message(0x010203 + 33, bytes: 1), to: &buffer)
        #expect(buffer.bytes == [0x46, 0, 0, 33, 0, 0, 6, 9, 0x17, 1, 0xFF, 0xFF, 0xFE, 0xAB])
    }

    @Test("Each RTMP chunk stream counts time differences from its own previous message")
    func streams() {
        var writer = RTMPChunkWriter(streamID: 1)
        var buffer = OutboundBuffer()
        writer.append(message(40, bytes: 1), to: &buffer)
        buffer = OutboundBuffer()
        writer.append(
            RTMPMessage(kind: .audio, timestamp: 60, prefix: .audio(packetType: 1), payload: SharedBytes([7])),
            to: &buffer)
        #expect(buffer.bytes == [0x04, 0, 0, 60, 0, 0, 3, 8, 1, 0, 0, 0, 0xAF, 1, 7])
    }

    @Test(
        "A long RTMP message has one header byte before each further chunk of 65536 bytes",
        arguments: [-1, 0, 1, 65_536, 65_537])
    func separators(excess: Int) {
        var writer = RTMPChunkWriter(streamID: 1)
        var buffer = OutboundBuffer()
        let body = 65_536 + excess
        writer.append(message(0, bytes: body - 5), to: &buffer)
        let bytes = buffer.bytes
        let separators = (body - 1) / 65_536
        #expect(bytes.count == 12 + body + separators)
        for index in 0..<separators { #expect(bytes[12 + 65_536 * (index + 1) + index] == 0xC6) }
        #expect(bytes.filter { $0 == 0xC6 }.count == separators)
    }

    @Test("An RTMP timestamp of 24 bits or more uses the extended timestamp, which every chunk repeats")
    func extended() {
        var writer = RTMPChunkWriter(streamID: 1)
        var buffer = OutboundBuffer()
        writer.append(message(0xFF_FFFE, bytes: 1), to: &buffer)
        #expect(buffer.bytes.count == 12 + 6)
        buffer = OutboundBuffer()
        writer.append(message(0xFF_FFFE + 0x0100_0000, bytes: 65_536), to: &buffer)
        let bytes = buffer.bytes
        #expect(Array(bytes[..<12]) == [0x46, 0xFF, 0xFF, 0xFF, 1, 0, 5, 9, 1, 0, 0, 0])
        #expect(Array(bytes[12 + 65_536..<12 + 65_536 + 5]) == [0xC6, 1, 0, 0, 0])
        buffer = OutboundBuffer()
        writer.append(message(0xFF_FFFE + 0x0100_0021, bytes: 1), to: &buffer)
        #expect(Array(buffer.bytes[..<4]) == [0x46, 0, 0, 33])
    }

    @Test("RTMP control messages belong to message stream 0 and always have full headers")
    func control() {
        var writer = RTMPChunkWriter(streamID: 9)
        for _ in 0..<2 {
            var buffer = OutboundBuffer()
            writer.append(
                RTMPMessage(kind: .userControl, payload: SharedBytes([0, 7, 0, 0, 0, 1])), to: &buffer)
            #expect(buffer.bytes == [2, 0, 0, 0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1])
        }
    }

    @Test("The bytes of an RTMP message do not depend on how many of them a socket accepts at a time")
    func partialWrites() {
        var generator = SeededRandom()
        for _ in 0..<20 {
            var writer = RTMPChunkWriter(streamID: 1)
            var buffer = OutboundBuffer()
            for index in 0..<6 {
                writer.append(
                    message(Int64(index) * 33, bytes: .random(in: 1...150_000, using: &generator)), to: &buffer)
            }
            let reference = buffer.bytes
            var (arrived, frames): ([UInt8], Int) = ([], 0)
            while !buffer.isEmpty {
                let head = buffer.withVectors(limit: 3) { vectors in
                    vectors.flatMap { Array(UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len)) }
                }
                let taken = Int.random(in: 1...head.count, using: &generator)
                arrived += head.prefix(taken)
                frames += buffer.consume(taken)
                #expect(buffer.pendingBytes == reference.count - arrived.count)
            }
            #expect(arrived == reference)
            #expect(frames == 6)
        }
    }

    @Test("Media bytes are sent from shared memory, without being copied")
    func sharing() {
        let payload = SharedBytes([UInt8](repeating: 1, count: 100))
        var writer = RTMPChunkWriter(streamID: 1)
        var buffer = OutboundBuffer()
        writer.append(RTMPMessage(kind: .video, payload: payload), to: &buffer)
        let lent = buffer.withVectors { $0.last?.iov_base.map { UInt(bitPattern: $0) } }
        #expect(lent == payload.withUnsafeBytes { $0.baseAddress.map { UInt(bitPattern: $0) } })
    }
}
