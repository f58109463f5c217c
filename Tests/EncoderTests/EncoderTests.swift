// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import Testing

@testable import Encoder

private final class Packets: PacketSink {
    let packets = Mutex<[EncodedPacket]>([])
    let isFinished = Mutex(false)
    func publish(_ packet: EncodedPacket) { packets.withLock { $0.append(packet) } }
    func finish() { isFinished.withLock { $0 = true } }
    func of(_ track: TrackKind) -> [EncodedPacket] { packets.withLock { $0.filter { $0.track == track } } }
}

@Suite("Encoder session")
struct EncoderSessionTests {
    private func encode(
        frames: Int64, settings: EncoderSettings = EncoderSettings(), rate: FrameRate = FrameRate(30),
        before: (EncoderSession, Int64) -> Void = { _, _ in }
    ) throws -> (Packets, EncoderSession) {
        let sink = Packets()
        var settings = settings
        settings.preset = .ultrafast
        settings.bFrames = settings.bFrames ?? 2
        let format = VideoFormat(width: 64, height: 48, frameRate: rate)
        let session = try EncoderSession(settings: settings, video: format, audio: .program, sink: sink)
        var position: Int64 = 0
        for index in 0..<frames {
            before(session, index)
            let end = rate.timeBase.rescale(index + 1, to: AudioFormat.program.timeBase, rounding: .down)
            try session.encode(AudioBuffer.silence(at: position, count: Int(end - position), format: .program))
            position = end
            let buffer = FrameBuffer(width: 64, height: 48) { bytes in
                for offset in bytes.indices {
                    bytes[offset] = UInt8(truncatingIfNeeded: offset &* 7 &+ Int(index) &* 13)
                }
            }
            try session.encode(
                VideoFrame(pts: index, timeBase: rate.timeBase, width: 64, height: 48, storage: buffer), at: index)
        }
        try session.finish()
        return (sink, session)
    }

    @Test("The encoder outputs every frame once, in decoding order, with its own time")
    func everyFrame() throws {
        let (sink, session) = try encode(frames: 130)
        let video = sink.of(.video)
        #expect(video.map(\.pts).sorted() == Array(0..<130))
        #expect(video.map(\.dts) == video.map(\.dts).sorted())
        #expect(Set(video.map(\.dts)).count == 130)
        #expect(video.allSatisfy { $0.dts <= $0.pts })
        #expect(video[0].pts - video[0].dts == session.description.video?.reorderDepth)
        #expect(sink.isFinished.withLock { $0 })
    }

    @Test("A session without video encodes audio alone, and ignores frames and requests for keyframes")
    func audioAlone() throws {
        let sink = Packets()
        let session = try EncoderSession(settings: EncoderSettings(), video: nil, audio: .program, sink: sink)
        #expect(session.description.video == nil && session.description.audio != nil && session.delayInFrames == 0)
        session.requestKeyframe(at: nil)
        let storage = FrameBuffer(width: 64, height: 48) { $0.initializeMemory(as: UInt8.self, repeating: 16) }
        for index in Int64(0)..<25 {
            try session.encode(AudioBuffer.silence(at: index * 1920, count: 1920, format: .program))
            try session.encode(
                VideoFrame(pts: index, timeBase: TimeBase(1, 25), width: 64, height: 48, storage: storage), at: index)
        }
        try session.finish()
        #expect(sink.of(.video).isEmpty && sink.isFinished.withLock { $0 })
        let audio = sink.of(.audio)
        #expect((audio.last?.pts ?? 0) + 1024 >= 48_000)
        let (status, bytes) = (session.status, audio.reduce(0) { $0 + Int64($1.payload.count) })
        #expect(
            status.framesIn == 0 && status.audioBytes == bytes && status.bytes == bytes && status.threadSeconds == 0)
    }

    @Test("IDR frames occur only at multiples of the GOP's length; other frames may be disposable, but no IDR frame is")
    func gop() throws {
        let (sink, _) = try encode(frames: 130)
        #expect(sink.of(.video).filter(\.isKeyframe).map(\.pts) == [0, 60, 120])
        #expect(sink.of(.video).filter(\.isDisposable).count > 0)
        #expect(sink.of(.video).allSatisfy { !($0.isKeyframe && $0.isDisposable) })
    }

    @Test("A keyframe requested for a time is the frame at that time, and starts a new GOP")
    func requested() throws {
        let rate = FrameRate(30000, 1001)
        let (sink, _) = try encode(frames: 150, rate: rate) { session, index in
            if index == 0 {
                session.requestKeyframe(at: rate.start(of: 77))
            }
        }
        #expect(sink.of(.video).filter(\.isKeyframe).map(\.pts) == [0, 60, 77, 137])
    }

    @Test("The first audio packet precedes the program's start by the encoder delay, and no sample is missing")
    func audioTrack() throws {
        let (sink, session) = try encode(frames: 90)
        let audio = sink.of(.audio)
        #expect(audio[0].pts == -1024)
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 })
        #expect((audio.last?.pts ?? 0) + 1024 >= 144_000)
        #expect(session.description.audio?.decoderConfiguration.array.prefix(2) == [0x11, 0x90])
    }

    @Test("The video track's decoder configuration contains x264's parameter sets")
    func configuration() throws {
        let (_, session) = try encode(frames: 1)
        let record = try #require(session.description.video).decoderConfiguration.array
        #expect(record[0] == 1)
        #expect(record[4] & 3 == 3)
        #expect(record[8] & 0x1F == 7)
        #expect(session.description.video?.encoderSettings.contains("x264") == true)
    }

    @Test("Settings that x264 refuses cause an encoder error")
    func refusal() {
        var settings = EncoderSettings()
        settings.profile = .baseline
        settings.rateControl = .quality(0)
        #expect(throws: EncoderError.self) { _ = try encode(frames: 1, settings: settings) }
    }
}

@Suite("Keyframe requests")
struct KeyframeScheduleTests {
    @Test("Keyframe requests without a time are merged and granted at most once in two seconds")
    func limited() {
        var schedule = KeyframeSchedule(frameRate: FrameRate(30))
        var forced: [Int64] = []
        for index in Int64(0)..<300 {
            schedule.request(at: nil)
            if schedule.isKeyframeDue(at: FrameIndex(index)) { forced.append(index) }
        }
        #expect(forced == [0, 60, 120, 180, 240])
    }

    @Test("Keyframe requests for a time are always granted, at the first frame at or after that time")
    func scheduled() {
        var schedule = KeyframeSchedule(frameRate: FrameRate(25))
        schedule.request(at: ProgramInstant(nanoseconds: 400_000_000))
        schedule.request(at: ProgramInstant(nanoseconds: 410_000_000))
        let due = (Int64(0)..<20).filter { schedule.isKeyframeDue(at: FrameIndex($0)) }
        #expect(due == [10, 11])
    }

    @Test("A keyframe request for a time that has passed is granted at the next frame")
    func late() {
        var schedule = KeyframeSchedule(frameRate: FrameRate(25))
        schedule.request(at: .zero)
        let due = (Int64(50)..<60).filter { schedule.isKeyframeDue(at: FrameIndex($0)) }
        #expect(due == [50])
    }
}
