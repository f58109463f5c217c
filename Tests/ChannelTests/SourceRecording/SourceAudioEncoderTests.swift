// SPDX-License-Identifier: Apache-2.0

import Encoder
import FanOut
import Media
import Status
import TestSupport
import Testing

@testable import Channel

@Suite("The encoder of an audio-only source")
struct SourceAudioEncoderTests {
    /// An encoder, and the packets that come out of it.
    private final class Bench: Sendable {
        let encoder: SourceAudioEncoder
        let packets = CollectedPackets()
        let log = CollectedLog()

        init() throws {
            let hub = PacketStream()
            encoder = try SourceAudioEncoder(of: "voice", bitrate: 96_000, into: hub, logger: log.logger)
            hub.add(packets)
        }

        func take(_ position: Int64, _ count: Int, at frame: Int64 = 0) {
            encoder.take(nil, .silence(at: position, count: count, format: .program), at: FrameIndex(frame))
        }

        /// Ends the encoder, and waits for the packet in which the sample before `end` is.
        func finish(at end: Int64) throws {
            encoder.finish()
            try eventually("the audio is encoded up to \(end)") {
                packets.all.last.map { $0.pts + 1024 >= end } == true
            }
        }
    }

    /// The packets follow each other without a hole from the sample `start` on, behind the encoder's priming.
    private func isComplete(_ packets: [EncodedPacket], from start: Int64) -> Bool {
        packets.first?.pts == start - 1024 && zip(packets, packets.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 }
    }

    @Test("The recording of an audio source begins with its first audio, and gaps become silence")
    func gaps() throws {
        var random = SeededRandom()
        for _ in 0..<5 {
            let bench = try Bench()
            let start = Int64.random(in: 0...100_000, using: &random)
            var position = start
            for _ in 0..<20 {
                let count = Int.random(in: 1...4000, using: &random)
                bench.take(position, count)
                position += Int64(count)
                if Int.random(in: 0..<4, using: &random) == 0 { position += .random(in: 1...200_000, using: &random) }
            }
            bench.take(position, 960)
            try bench.finish(at: position + 960)
            #expect(isComplete(bench.packets.all, from: start))
            try eventually("all bytes are counted") {
                bench.encoder.status.audioBytes == bench.packets.all.reduce(0) { $0 + Int64($1.payload.count) }
            }
            #expect(bench.encoder.status.bytes == bench.encoder.status.audioBytes)
            #expect(bench.encoder.failure == nil && bench.encoder.missing == nil)
            #expect(bench.log.lines.isEmpty && bench.encoder.coding == .encoded && bench.encoder.dropped == 0)
        }
    }

    @Test("If an audio source's encoder is too slow, audio is dropped, and the audio after it keeps its time")
    func overflow() throws {
        let bench = try Bench()
        for piece in 0..<20_000 as Range<Int64> { bench.take(piece * 16, 16) }
        var end: Int64 = 320_000
        try eventually("the encoder has caught up") {
            bench.take(end, 960)
            end += 960
            return bench.packets.all.last.map { $0.pts > 320_000 } == true
        }
        try bench.finish(at: end)
        #expect(isComplete(bench.packets.all, from: 0))
    }

    @Test("An audio source's encoder accepts nothing after its end, and describes an audio track only")
    func ended() throws {
        let bench = try Bench()
        bench.take(0, 4800)
        try bench.finish(at: 4800)
        bench.take(4800, 48_000)
        let description = bench.encoder.description
        #expect(description.video == nil && description.audio?.bitrate == 96_000 && description.leadingKind == .audio)
        #expect(bench.packets.all.last.map { $0.pts < 4800 + 1024 } == true)
    }
}
