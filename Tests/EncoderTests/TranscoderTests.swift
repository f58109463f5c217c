// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Media
import PacketSamples
import Synchronization
import TestSupport
import Testing

@testable import Encoder

/// Tests that one track is decoded and encoded again with the sender's times.
@Suite struct TranscoderTests {
    private let path = NSTemporaryDirectory() + "relay-transcoder-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    private func clip() throws -> CodedClip {
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "2"], in: path)
    }

    private func settings(gop: Duration = .seconds(2)) -> EncoderSettings {
        var settings = EncoderSettings()
        settings.preset = .ultrafast
        settings.gop = gop
        return settings
    }

    /// `packet`, later by this many ticks.
    private func moved(_ packet: EncodedPacket, by ticks: Int64) -> EncodedPacket {
        EncodedPacket(
            of: packet.description, pts: packet.pts + ticks, dts: packet.dts + ticks, duration: packet.duration,
            isKeyframe: packet.isKeyframe, payload: packet.payload)
    }

    @Test(
        "A transcoder outputs each frame once at its time, in decodable order, at constant and variable frame rates",
        arguments: [false, true])
    func video(isVariable: Bool) throws {
        let clip = try clip()
        let track = try #require(clip.description.video)
        let frames = clip.packets.filter { $0.track == .video }
        // Every third frame is late by half of its duration, which does not change the order.
        let half = frames[0].duration / 2
        let shown = frames.map(\.pts).sorted()
        let late = Set(isVariable ? stride(from: 2, to: shown.count, by: 3).map { shown[$0] } : [])
        let input = frames.map { packet in
            EncodedPacket(
                of: track, pts: packet.pts + (late.contains(packet.pts) ? half : 0), dts: packet.dts,
                duration: packet.duration, isKeyframe: packet.isKeyframe, payload: packet.payload)
        }
        let transcoder = try VideoTranscoder(settings(), of: track, size: nil, subject: "clip")
        let output = try input.flatMap { try transcoder.take($0) } + transcoder.finish()
        #expect(output.map(\.pts).sorted() == input.map(\.pts).sorted())
        #expect(zip(output, output.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(output.allSatisfy { $0.dts <= $0.pts && $0.description === transcoder.description })
        #expect(output.first?.isKeyframe == true && transcoder.description.timeBase == track.timeBase)
        #expect(transcoder.errors == 0)
    }

    @Test("A transcoder makes rotated video upright")
    func rotated() throws {
        let clip = try clip()
        let coded = try #require(clip.description.video)
        let frames = try #require(coded.frameFormat)
        // A quarter turn clockwise.
        let track = TrackDescription(
            video: coded.codec, frames: frames, timeBase: coded.timeBase,
            decoderConfiguration: coded.decoderConfiguration, nominalRate: coded.nominalRate,
            reorderDepth: coded.reorderDepth,
            displayMatrix: [0, 0x10000, 0, 0xFFFF_0000, 0, 0, UInt32(frames.height) << 16, 0, 0x4000_0000])
        let input = clip.packets.filter { $0.track == .video }.map { packet in
            EncodedPacket(
                of: track, pts: packet.pts, dts: packet.dts, duration: packet.duration, isKeyframe: packet.isKeyframe,
                payload: packet.payload)
        }
        let transcoder = try VideoTranscoder(settings(), of: track, size: nil, subject: "clip")
        let output = try input.flatMap { try transcoder.take($0) } + transcoder.finish()
        let upright = try #require(transcoder.description.frameFormat)
        #expect(frames.width > frames.height)
        #expect(upright.width == frames.height && upright.height == frames.width)
        #expect(transcoder.description.displayMatrix == nil)
        #expect(output.count == input.count && transcoder.errors == 0)
    }

    @Test("A keyframe requested of a transcoder is the first frame at or after the requested time")
    func keyframes() throws {
        let clip = try clip()
        let track = try #require(clip.description.video)
        let frames = clip.packets.filter { $0.track == .video }
        let transcoder = try VideoTranscoder(settings(gop: .seconds(60)), of: track, size: nil, subject: "clip")
        transcoder.keyframes.requestKeyframe(at: 1_480_000_000)
        let output = try frames.flatMap { try transcoder.take($0) } + transcoder.finish()
        let times = output.filter(\.isKeyframe).map { Double($0.ptsNanoseconds) / 1e9 }
        #expect(times.count == 2 && abs(times[1] - 1.48) < 0.001, "\(times)")
    }

    @Test("A transcoder outputs audio at the sender's times: gaps become silence, and repeated audio is dropped")
    func audio() throws {
        let clip = try clip()
        let packets = clip.packets.filter { $0.track == .audio }
        for (name, input) in [
            ("as it is", packets), ("a hole", Array(packets[..<20] + packets[30...])),
            ("twice", Array(packets[..<30] + packets[20...])),
        ] {
            let transcoder = try AudioTranscoder(bitrate: 96_000, subject: "clip")
            let output = try input.flatMap { try transcoder.take($0) } + transcoder.finish()
            #expect(zip(output, output.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 }, "\(name)")
            let first = try #require(output.first).pts - (packets[0].pts - 1024)
            #expect(abs(first) <= 1024, "\(name): \(first)")
            #expect(abs(output.count - packets.count) <= 2, "\(name): \(output.count) of \(packets.count)")
            #expect(transcoder.errors == 0)
        }
    }

    @Test(
        "If audio samples run slower or faster than their timestamps, a transcoder resamples without silence or cuts",
        arguments: [-2, 2])
    func drift(step: Int64) throws {
        let clip = try clip()
        let packets = clip.packets.filter { $0.track == .audio }
        let input = packets.enumerated().map { moved($1, by: Int64($0) * step) }
        let transcoder = try AudioTranscoder(bitrate: 96_000, subject: "clip")
        let output = try input.flatMap { try transcoder.take($0) } + transcoder.finish()
        let steps = zip(output, output.dropFirst()).map { $1.pts - $0.pts }
        #expect(steps.dropFirst(3).dropLast(3).allSatisfy { abs($0 - 1024 - step) <= 2 }, "\(steps)")
        #expect(abs((output.last?.pts ?? 0) - (input.last?.pts ?? 0)) < 3072)
    }

    @Test("Mono audio of 8 kHz is resampled and encoded at its own times")
    func samples() throws {
        let track = TrackDescription(
            audio: .pcm, format: AudioFormat(sampleRate: 8000, channels: 1), decoderConfiguration: SharedBytes([]))
        let sample: [UInt8] = [0, 0, 128, 62]  // 0.25
        let payload = SharedBytes([[UInt8]](repeating: sample, count: 160).flatMap(\.self))
        let input = (0..<50).map { index in
            EncodedPacket(
                of: track, pts: 4000 + Int64(index) * 160, dts: 4000 + Int64(index) * 160, duration: 160,
                isKeyframe: true, payload: payload)
        }
        let transcoder = try AudioTranscoder(bitrate: 96_000, subject: "clip")
        let output = try input.flatMap { try transcoder.take($0) } + transcoder.finish()
        #expect(transcoder.errors == 0 && (46...49).contains(output.count), "\(output.count) packets")
        #expect(zip(output, output.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 })
        let first = try #require(output.first).pts - 24_000
        #expect((-2048...0).contains(first), "\(first)")
    }

    @Test("A pause of minutes in the audio does not become minutes of silence in a transcoder's output")
    func pause() throws {
        let clip = try clip()
        let packets = clip.packets.filter { $0.track == .audio }
        let input = packets[..<40] + packets[40...].map { moved($0, by: 48_000 * 600) }
        let transcoder = try AudioTranscoder(bitrate: 96_000, subject: "clip")
        let output = try input.flatMap { try transcoder.take($0) } + transcoder.finish()
        #expect(abs(output.count - packets.count) <= 4)
        #expect(zip(output, output.dropFirst()).allSatisfy { $0.pts < $1.pts })
    }

    /// Collects packets.
    private final class Collector: PacketSink {
        let packets = Mutex<[EncodedPacket]>([])
        func publish(_ packet: EncodedPacket) { packets.withLock { $0.append(packet) } }
        func finish() {}
    }

    @Test("If one track is transcoded, the other is copied unchanged, and both are complete at the end")
    func sink() throws {
        let clip = try clip()
        let (copied, coded) = (Collector(), Collector())
        let sink = TranscodingSink(
            .audio, by: try AudioTranscoder(bitrate: 96_000, subject: "clip"), copied: copied, coded: coded,
            canWait: true, name: "test")
        for packet in clip.packets { sink.publish(packet) }
        sink.finish()
        let frames = clip.packets.filter { $0.track == .video }
        #expect(copied.packets.withLock { $0.elementsEqual(frames) { $0 === $1 } })
        let audio = clip.packets.count { $0.track == .audio }
        #expect(abs(coded.packets.withLock { $0.count } - audio) <= 2)
        #expect(sink.status.failure == nil && sink.status.skipped == 0 && sink.status.errors == 0)
    }

    /// A transcoder that fails at packet `limit`.
    private final class Failing: TrackTranscoder {
        struct Failure: Error {}
        let description: TrackDescription
        let errors = 0
        private var left: Int

        init(_ description: TrackDescription, after limit: Int) { (self.description, left) = (description, limit) }

        func take(_ packet: EncodedPacket) throws -> [EncodedPacket] {
            left -= 1
            if left < 0 { throw Failure() }
            return [packet]
        }

        func finish() throws -> [EncodedPacket] { throw Failure() }
    }

    @Test(
        "If one track's transcoder fails, this is reported once, and the other track continues"
    )
    func failure() throws {
        let clip = try clip()
        let (copied, coded) = (Collector(), Collector())
        let track = try #require(clip.packets.first { $0.track == .audio }).description
        let sink = TranscodingSink(
            .audio, by: Failing(track, after: 5), copied: copied, coded: coded, canWait: true, name: "test")
        for packet in clip.packets { sink.publish(packet) }
        sink.finish()
        #expect(sink.status.failure?.contains("Failure") == true)
        #expect(coded.packets.withLock { $0.count } == 5)
        #expect(copied.packets.withLock { $0.count } == clip.packets.count { $0.track == .video })
    }

    /// The point up to which a slow transcoder may work, and the point that it has reached.
    private final class Progress: Sendable {
        enum Bus { case reading, ending, over }
        let (take, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let stage = Mutex(Bus.reading)
        func isAt(_ stage: Bus) -> Bool { self.stage.withLock { $0 == stage } }
    }

    /// A transcoder that takes as long for each packet, and for the end, as the test determines.
    private final class Slow: TrackTranscoder {
        let description: TrackDescription
        let errors = 0
        private let progress: Progress

        init(_ description: TrackDescription, _ progress: Progress) {
            (self.description, self.progress) = (description, progress)
        }

        func take(_ packet: EncodedPacket) throws -> [EncodedPacket] {
            progress.take.wait()
            return []
        }

        func finish() throws -> [EncodedPacket] {
            progress.stage.withLock { $0 = .ending }
            progress.end.wait()
            return []
        }
    }

    @Test("A thread that waits for a slow transcoder, or flushes it, does not count as hanging")
    func slow() async throws {
        let packet = try #require(try clip().packets.first { $0.track == .audio })
        let progress = Progress()
        let heartbeat = Heartbeat("file")
        let sink = TranscodingSink(
            .audio, by: Slow(packet.description, progress), copied: Collector(), coded: Collector(),
            canWait: true, publisher: heartbeat, name: "test")
        heartbeat.beat()
        Thread {
            for _ in 0..<201 { sink.publish(packet) }
            sink.finish()
            progress.stage.withLock { $0 = .over }
        }.start()
        try await eventually("the file waits, the encoder works") {
            heartbeat.silence == nil && sink.heartbeat.silence != nil
        }
        #expect(progress.isAt(.reading))
        for _ in 0..<201 { progress.take.signal() }
        try await eventually("the encoder is at its end") { progress.isAt(.ending) }
        #expect(heartbeat.silence != nil && sink.heartbeat.silence == nil)
        progress.end.signal()
        try await eventually("all is over") { progress.isAt(.over) }
        #expect(sink.heartbeat.silence == nil)
    }

    @Test("A source that can wait is read at most half a second ahead of a slow transcoder")
    func lead() async throws {
        let packets = try clip().packets
        let first = try #require(packets.first { $0.track == .audio })
        let (progress, copied, heartbeat) = (Progress(), Collector(), Heartbeat("file"))
        let sink = TranscodingSink(
            .audio, by: Slow(first.description, progress), copied: copied, coded: Collector(), canWait: true,
            publisher: heartbeat, name: "test")
        heartbeat.beat()
        Thread {
            for packet in packets { sink.publish(packet) }
            sink.finish()
            progress.stage.withLock { $0 = .over }
        }.start()
        try await eventually("the file waits") { heartbeat.silence == nil }
        let newest = try #require(copied.packets.withLock { $0.last })
        let lead = newest.programDts - first.programDts
        #expect((.milliseconds(300) ... .milliseconds(500)).contains(lead), "\(lead)")
        for _ in packets { progress.take.signal() }
        progress.end.signal()
        try await eventually("all is over") { progress.isAt(.over) }
        #expect(copied.packets.withLock { $0.count } == packets.count { $0.track == .video })
    }
}
