// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Media
import Networking
import PacketSamples
import Testing

@testable import RTMP

@Suite("Chunks that several RTMP connections share")
struct RTMPBurstTests {
    /// A connection's state between frames.
    private struct Connection {
        var timeline = RTMPTimeline()
        var chunks: RTMPChunkWriter

        init(stream: UInt32) { chunks = RTMPChunkWriter(streamID: stream) }

        mutating func sends(_ packets: [EncodedPacket]) -> [UInt8] {
            var buffer = OutboundBuffer()
            for packet in packets { chunks.append(timeline.message(for: packet), to: &buffer) }
            return buffer.bytes
        }

        /// The bytes and their position in the file; nil if they are not shared.
        mutating func shares(_ packets: [EncodedPacket], _ shared: inout RTMPBursts) -> ([UInt8], UInt?)? {
            var buffer = OutboundBuffer()
            guard chunks.append(packets, on: &timeline, sharing: &shared, to: &buffer) else { return nil }
            let address = buffer.withVectors { $0.first?.iov_base.map { UInt(bitPattern: $0) } }
            return (buffer.bytes, address)
        }
    }

    private func beat(_ index: Int64, bytes: Int = 900) -> [EncodedPacket] {
        [
            Samples.audio(pts: index * 1600), Samples.audio(pts: index * 1600 + 1024),
            Samples.video(pts: index + 2, dts: index, isKeyframe: index % 60 == 0, bytes: bytes),
        ]
    }

    @Test(
        "The RTMP chunks shared by several connections equal the bytes that each would write by itself",
        arguments: [900, 65_531, 200_000])
    func sameBytes(size: Int) throws {
        var shared = RTMPBursts()
        var (sharing, alone) = (Connection(stream: 1), Connection(stream: 1))
        _ = sharing.sends(beat(0))
        _ = alone.sends(beat(0))
        for index in 1..<40 {
            let packets = beat(Int64(index), bytes: size)
            let (bytes, _) = try #require(sharing.shares(packets, &shared))
            #expect(bytes == alone.sends(packets))
        }
    }

    @Test("RTMP connections at the same position share one buffer of chunks, whatever their stream IDs")
    func onePiece() throws {
        var shared = RTMPBursts()
        var (first, second) = (Connection(stream: 1), Connection(stream: 7))
        for index in 0..<10 { _ = first.sends(beat(Int64(index))) }
        _ = second.sends(beat(9))
        for index in 10..<20 {
            let packets = beat(Int64(index))
            let one = try #require(first.shares(packets, &shared)?.1)
            let other = try #require(second.shares(packets, &shared)?.1)
            #expect(one == other)
        }
    }

    @Test("An RTMP connection that missed a frame gets chunks with its own time difference, not those of others")
    func ownStep() throws {
        var shared = RTMPBursts()
        var (steady, late, alone) = (Connection(stream: 1), Connection(stream: 1), Connection(stream: 1))
        _ = steady.sends(beat(0))
        _ = steady.sends(beat(1))
        _ = late.sends(beat(0))
        _ = alone.sends(beat(0))
        _ = steady.shares(beat(2), &shared)
        let packets = beat(3)
        let steadyBytes = try #require(steady.shares(packets, &shared)?.0)
        let lateBytes = try #require(late.shares(packets, &shared)?.0)
        #expect(lateBytes == alone.sends(packets))
        #expect(lateBytes != steadyBytes)
    }

    @Test("An RTMP connection shares a frame with the audio before it, and writes all other messages itself")
    func own() {
        var shared = RTMPBursts()
        var connection = Connection(stream: 1)
        #expect(connection.shares(beat(0), &shared) == nil)
        _ = connection.sends(beat(0))
        #expect(connection.shares([Samples.audio(pts: 3000)], &shared) == nil)
        #expect(connection.shares(beat(1) + beat(2), &shared) == nil)
        #expect(connection.shares([], &shared) == nil)
    }

    @Test("Programs that publish alternately keep their own shared chunks, and chunks of old frames are released")
    func bounds() throws {
        var shared = RTMPBursts()
        var (first, second) = (Connection(stream: 1), Connection(stream: 1))
        _ = first.sends(beat(0))
        _ = second.sends(beat(0))
        weak var forgotten: EncodedPacket?
        for index in 1..<30 {
            let (one, other) = (beat(Int64(index)), beat(Int64(index)))
            var (again, otherAgain) = (first, second)
            let address = try #require(first.shares(one, &shared)?.1)
            let otherAddress = try #require(second.shares(other, &shared)?.1)
            #expect(again.shares(one, &shared)?.1 == address)
            #expect(otherAgain.shares(other, &shared)?.1 == otherAddress)
            if index == 1 { forgotten = one.last }
        }
        #expect(forgotten == nil)
    }
}

@Suite("The limit of open files")
struct DescriptorLimitTests {
    @Test("A limit of open files that is too low for the outputs is reported with advice")
    func shortage() throws {
        #expect(DescriptorLimit.shortage(descriptors: 800, limit: 1024) == nil)
        let sentence = try #require(DescriptorLimit.shortage(descriptors: 1000, limit: 1024))
        #expect(sentence.contains("1128 open files") && sentence.contains("1024") && sentence.contains("LimitNOFILE"))
    }

    @Test("Raising the limit of open files a second time keeps the raised limit")
    func raise() {
        let limit = DescriptorLimit.raise()
        #expect(limit >= 256)
        #expect(DescriptorLimit.raise() == limit)
    }

    @Test("Shared RTMP chunks are written to a file if there are many connections, and otherwise kept in memory")
    func worth() {
        for (connections, isFiled) in [(1, false), (400, true)] {
            var bursts = RTMPBursts()
            bursts.connections = connections
            let packets = [Samples.video(pts: 2, dts: 0)]
            let chunks = bursts.chunks(of: packets, steps: [0]) { $0.append(SharedBytes([1, 2, 3])) }
            #expect((chunks.place != nil) == isFiled)
            #expect(chunks.bytes.array == [1, 2, 3])
        }
    }
}
