// SPDX-License-Identifier: Apache-2.0

import LibAV
import Media
import Synchronization
import TestSupport
import Testing

@testable import Encoder

private final class Packets: PacketSink {
    let packets = Mutex<[EncodedPacket]>([])
    func publish(_ packet: EncodedPacket) { packets.withLock { $0.append(packet) } }
    func finish() {}
    func of(_ track: TrackKind) -> [EncodedPacket] { packets.withLock { $0.filter { $0.track == track } } }
}

/// Frames whose rows are shorter than the encoder's frames are wide, which x264 refuses.
private final class NarrowFrame: FrameStorage {
    private let frame = FrameBuffer(width: 64, height: 48) { _ in }

    func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R {
        try frame.withPlanes { planes in
            try body(
                Planes(
                    y: .init(bytes: planes.y.bytes, stride: 16), u: .init(bytes: planes.u.bytes, stride: 8),
                    v: .init(bytes: planes.v.bytes, stride: 8)))
        }
    }
}

@Suite("Frames that an encoder refuses")
struct RefusedFrameTests {
    private static let rate = FrameRate(25)
    private let sink = Packets()
    private let log = CollectedLog()

    private func session() throws -> EncoderSession {
        var settings = EncoderSettings()
        (settings.preset, settings.bFrames) = (.ultrafast, 2)
        return try EncoderSession(
            settings: settings, video: VideoFormat(width: 64, height: 48, frameRate: Self.rate), audio: .program,
            sink: sink, logger: log.logger)
    }

    private func frame(_ index: Int64, isNarrow: Bool = false) -> VideoFrame {
        let storage: any FrameStorage =
            isNarrow
            ? NarrowFrame()
            : FrameBuffer(width: 64, height: 48) { bytes in
                for offset in bytes.indices { bytes[offset] = UInt8(truncatingIfNeeded: offset &* 7 &+ Int(index)) }
            }
        return VideoFrame(pts: index, timeBase: Self.rate.timeBase, width: 64, height: 48, storage: storage)
    }

    /// The audio of one program frame, with `sample` in the middle if it is given.
    private func audio(_ index: Int64, _ sample: Float? = nil) -> AudioBuffer {
        var channel = [Float](repeating: 0.1, count: 1920)
        if let sample { channel[960] = sample }
        return AudioBuffer(position: index * 1920, format: .program, channels: [channel, channel])
    }

    @Test(
        "If the AAC encoder refuses an invalid sample, some audio becomes silence, but no packet is missing",
        arguments: [Float.nan, .infinity, 1e30])
    func audioRefused(sample: Float) throws {
        let session = try session()
        for index in 0..<50 { try session.encode(audio(Int64(index), index == 20 ? sample : nil)) }
        try session.finish()
        let packets = sink.of(.audio)
        #expect(packets.first?.pts == -1024)
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 })
        #expect((packets.last?.pts ?? 0) + 1024 >= 50 * 1920)
        #expect(packets.allSatisfy { $0.description === session.description.audio })
        #expect((1...3).contains(session.status.refusedFrames))
        #expect(log.lines(containing: "refused a frame").count == 1)
        let decoder = try AudioPacketDecoder(try #require(session.description.audio), subject: "audio")
        var level: [Float] = []
        for packet in packets { for piece in try decoder.decode(packet) { level += piece.channels[0] } }
        #expect(level.allSatisfy { $0.isFinite })
        // Away from the bad sample the audio is unchanged.
        #expect(level[4096..<34_000].allSatisfy { abs($0 - 0.1) < 0.05 })
        #expect(level[46_000..<90_000].allSatisfy { abs($0 - 0.1) < 0.05 })
    }

    @Test("An AAC encoder that refuses every frame fails after a certain number of frames")
    func audioForEver() throws {
        let encoder = try AACEncoder(format: .program, bitrate: 128_000)
        var frames = 0
        #expect(throws: AVFailure.self) {
            for index in 0..<1000 {
                let bad = [Float](repeating: .nan, count: 1024)
                _ = try encoder.encode(
                    AudioBuffer(position: Int64(index) * 1024, format: .program, channels: [bad, bad]))
                frames += 1
            }
        }
        #expect(frames < 4 * AACEncoder.mostRefusals)
    }

    @Test("If x264 refuses a frame, only that frame is missing; if it was to be a keyframe, the next frame becomes one")
    func videoRefused() throws {
        let session = try session()
        session.requestKeyframe(at: Self.rate.start(of: 20))
        for index in Int64(0)..<50 {
            try session.encode(frame(index, isNarrow: index == 20), at: index)
            #expect(session.status.forcedKeyframes == (index > 20 ? 1 : 0))
        }
        try session.finish()
        let video = sink.of(.video)
        #expect(video.map(\.pts).sorted() == (0..<50).filter { $0 != 20 })
        #expect(video.filter(\.isKeyframe).map(\.pts) == [0, 21])
        #expect(session.status.refusedFrames == 1)
        #expect(log.lines(containing: "refused a frame").count == 1)
    }

    /// An x264 session that pretends to break at the frame with this number.
    private final class BreakingSession: VideoCoding {
        private let inner: X264Encoder
        private let breaksAt: Int64
        private(set) var isBroken = false

        init(_ inner: X264Encoder, at frame: Int64) { (self.inner, breaksAt) = (inner, frame) }

        var description: TrackDescription { inner.description }
        var delay: Int { inner.delay }
        var threads: EncoderThreads { inner.threads }
        var parallelism: Int { inner.parallelism }

        func encode(_ frame: VideoFrame, at index: Int64, forceKeyframe: Bool) throws(EncoderError) -> EncodedPacket? {
            isBroken = isBroken || index == breaksAt
            if isBroken { throw EncoderError(operation: "encoding a frame", reason: "test") }
            return try inner.encode(frame, at: index, forceKeyframe: forceKeyframe)
        }

        func flush() throws(EncoderError) -> EncodedPacket? { try inner.flush() }
    }

    @Test("If the x264 session fails, a new session continues with the next frame and the same parameter sets")
    func videoRestarted() throws {
        var settings = EncoderSettings()
        (settings.preset, settings.bFrames) = (.ultrafast, 2)
        let format = VideoFormat(width: 64, height: 48, frameRate: Self.rate)
        let encoder = try RestartingEncoder { [settings] (before) throws(EncoderError) in
            BreakingSession(try X264Encoder(settings: settings, format: format, like: before), at: 30)
        }
        let description = encoder.session.description
        var video: [EncodedPacket] = []
        for index in Int64(0)..<60 {
            if let packet = try encoder.encode(frame(index), at: index, forceKeyframe: false) { video.append(packet) }
        }
        while let packet = try encoder.flush() { video.append(packet) }
        #expect(Set(video.map(\.pts)).isSuperset(of: 31..<60) && !video.contains { $0.pts == 30 })
        #expect(zip(video, video.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(video.filter(\.isKeyframe).map(\.pts) == [0, 31])
        #expect(video.allSatisfy { $0.description === description })
        #expect(encoder.refused.frames == 1)
    }

    @Test("If a new x264 session continues after a failure, the CPU time of the encoder's threads does not decrease")
    func threadTime() throws {
        let format = VideoFormat(width: 64, height: 48, frameRate: Self.rate)
        let encoder = try RestartingEncoder { (before) throws(EncoderError) in
            BreakingSession(try X264Encoder(settings: EncoderSettings(), format: format, like: before), at: 30)
        }
        var seconds = 0.0
        for index in Int64(0)..<40 {
            _ = try encoder.encode(frame(index), at: index, forceKeyframe: false)
            let now = encoder.threadTime.seconds
            #expect(now >= seconds, "at frame \(index)")
            seconds = now
        }
        // With one thread x264 uses the caller's thread, and has no thread of its own.
        #expect(encoder.session.parallelism == 1 || seconds > 0)
    }

    @Test("An x264 session that refuses every frame fails after a certain number of frames")
    func videoForEver() throws {
        let session = try session()
        var frames = 0
        #expect(throws: EncoderError.self) {
            for index in Int64(0)..<1000 {
                try session.encode(frame(index, isNarrow: true), at: index)
                frames += 1
            }
        }
        #expect(frames == RestartingEncoder.mostRefusals - 1)
    }
}
