// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Encoder
import FanOut
import Ingest
import Logging
import Media
import Program
import Status
import TestSupport
import Testing

@testable import Channel

@Suite("The encoder of an audio-only source")
struct SourceEncoderTests {
    /// An encoder, and the packets that come out of it.
    private final class Bench: Sendable {
        let encoder: SourceEncoder
        let packets = CollectedPackets()
        let log = CollectedLog()
        private let over = DispatchSemaphore(value: 0)

        init() throws {
            let hub = PacketStream()
            var settings = EncoderSettings()
            settings.audioBitrate = 96_000
            encoder = try SourceEncoder(
                settings, format: .usual, placeholder: nil, into: hub, clock: ManualClock(), logger: log.logger)
            hub.add(packets)
            encoder.start { [over] in over.signal() }
        }

        func take(_ position: Int64, _ count: Int, at frame: Int64 = 0) {
            encoder.take(nil, .silence(at: position, count: count, format: .program), at: FrameIndex(frame))
        }

        /// Ends the encoder, and waits until everything is encoded: up to the sample before `end`.
        func finish(at end: Int64) throws {
            encoder.finish()
            try waitForEnd()
            #expect(packets.all.last.map { $0.pts + 1024 >= end } == true)
        }

        func waitForEnd() throws {
            try eventually("the encoder ends") { over.wait(timeout: .now()) == .success }
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
            let bytes = bench.packets.all.reduce(0) { $0 + Int64($1.payload.count) }
            #expect(bench.encoder.status.audioBytes == bytes && bench.encoder.status.bytes == bytes)
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

    @Test("A source without video gets no frames, even if it shows one")
    func frames() throws {
        let bench = try Bench()
        let frame = SlatePattern.frame(.usual, lines: [])
        for number in Int64(0)..<5 {
            bench.encoder.take(
                frame, .silence(at: number * 1920, count: 1920, format: .program), at: FrameIndex(number))
        }
        try bench.finish(at: 9600)
        #expect(bench.packets.frames.isEmpty && bench.encoder.status.framesIn == 0 && bench.encoder.dropped == 0)
    }

    @Test("If the encoder of an audio source fails, its recording lacks the audio up to the end of the newest piece")
    func fails() throws {
        let bench = try Bench()
        let bad = [Float](repeating: .nan, count: 1024)
        var pieces: Int64 = 0
        try eventually("the encoder fails") {
            bench.encoder.take(
                nil, AudioBuffer(position: pieces * 1024, format: .program, channels: [bad, bad]), at: 0)
            pieces += 1
            return bench.encoder.failure != nil
        }
        bench.take(pieces * 1024, 1024)
        try bench.waitForEnd()
        let missing = try #require(bench.encoder.missing)
        #expect(missing.until == ProgramInstant((pieces + 1) * 1024, in: AudioFormat.program.timeBase))
        #expect(missing.reason.hasPrefix("its encoder failed: "))
        let text = "the recording of a source ends: its encoder failed"
        #expect(bench.log.lines(containing: text, at: .error).count == 1 && bench.encoder.status.refusedFrames > 0)
        // Audio that comes after the end of the recording does not count as missing.
        bench.encoder.finish()
        bench.take((pieces + 1) * 1024, 1024)
        #expect(bench.encoder.missing?.until == missing.until)
    }
}
