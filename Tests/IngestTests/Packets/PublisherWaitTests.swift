// SPDX-License-Identifier: Apache-2.0

import LibAV
import Media
import PacketSamples
import TestSupport
import Testing

@testable import Ingest
@testable import RTMP

/// Tests when a publisher goes on air.
@Suite struct PublisherWaitTests {
    private let clip: CodedClip
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        clip = try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "0"], in: directory.path)
    }

    private func video(_ body: [UInt8], at time: UInt32 = 0) throws -> RTMPPublishedMessage {
        RTMPPublishedMessage(timestamp: time, content: .video(try #require(try FLVVideo(body: body[...]))))
    }

    /// The clip's video as published messages: the configuration first, and then the frames.
    private func frames(_ range: Range<Int>) throws -> [RTMPPublishedMessage] {
        let packets = clip.packets.filter { $0.track == .video }
        return try range.map { index in
            let packet = packets[index]
            return try video(
                [packet.isKeyframe ? 0x17 : 0x27, 1, 0, 0, 0] + packet.payload.array, at: UInt32(index) * 40)
        }
    }

    private func configuration() throws -> RTMPPublishedMessage {
        try video([0x17, 0, 0, 0, 0] + (clip.description.video?.decoderConfiguration.array ?? []))
    }

    private func audio() throws -> [RTMPPublishedMessage] {
        let bodies: [[UInt8]] = [[0xAF, 0, 0x11, 0x90], [0xAF, 1, 9, 9]]
        return try bodies.map { body in
            RTMPPublishedMessage(timestamp: 0, content: .audio(try #require(try FLVAudio(body: body[...]))))
        }
    }

    private func metadata(_ properties: [String: Double]) -> RTMPPublishedMessage {
        RTMPPublishedMessage(timestamp: 0, content: .metadata(properties.mapValues { .number($0) }))
    }

    private func reader(of messages: [RTMPPublishedMessage]) -> RTMPPacketReader {
        var reader = RTMPPacketReader()
        for message in messages { _ = reader.read(message) }
        return reader
    }

    @Test("A publisher that sends all announced tracks goes on air at once")
    func complete() throws {
        let announced = metadata(["videocodecid": 7, "audiocodecid": 10, "framerate": 25])
        let reader = reader(of: try [announced, configuration()] + audio() + frames(0..<1))
        var wait = PublisherWait(for: .video)
        #expect(wait.decide(on: reader, at: 5) == .known)
    }

    @Test("A publisher that announces audio and sends none goes on air after 2 s")
    func announcedAudio() throws {
        let announced = metadata(["videocodecid": 7, "audiocodecid": 10, "framerate": 25])
        let reader = reader(of: try [announced, configuration()] + frames(0..<25))
        var wait = PublisherWait(for: .video)
        #expect(wait.decide(on: reader, at: 5) == .wait(until: 2_000_000_005))
        #expect(wait.decide(on: reader, at: 2_000_000_004) == .wait(until: 2_000_000_005))
        #expect(wait.decide(on: reader, at: 2_000_000_005) == .known)
    }

    @Test("A publisher with audio of an unknown codec goes on air after 2 s")
    func unknownAudio() throws {
        let announced = metadata(["videocodecid": 7, "audiocodecid": 11, "framerate": 25])
        let unknown = RTMPPublishedMessage(timestamp: 0, content: .unsupported("audio codec Speex"))
        let reader = reader(of: try [announced, configuration(), unknown] + frames(0..<2))
        var wait = PublisherWait(for: nil)
        #expect(wait.decide(on: reader, at: 0) == .wait(until: 2_000_000_000))
        #expect(wait.decide(on: reader, at: 2_000_000_000) == .known)
    }

    @Test("A publisher whose video has an unknown codec goes on air after 2 s, if audio alone is accepted")
    func unknownVideo() throws {
        let unknown = RTMPPublishedMessage(timestamp: 0, content: .unsupported("video codec 2"))
        let reader = reader(of: try [metadata(["videocodecid": 2, "audiocodecid": 10]), unknown] + audio())
        var wait = PublisherWait(for: nil)
        #expect(wait.decide(on: reader, at: 0) == .wait(until: 2_000_000_000))
        #expect(wait.decide(on: reader, at: 2_000_000_000) == .known)
    }

    @Test("If a publisher sends frames without a keyframe, relay waits up to 12 s for a keyframe")
    func withoutKeyframe() throws {
        let reader = reader(of: try audio() + [configuration()] + frames(1..<20))
        var wait = PublisherWait(for: .video)
        #expect(wait.decide(on: reader, at: 0) == .wait(until: 12_000_000_000))
    }

    @Test("If video is required, a publisher of audio alone is reported once, and its late video is still accepted")
    func audioAlone() throws {
        let alone = reader(of: try audio())
        var wait = PublisherWait(for: .video)
        #expect(wait.decide(on: alone, at: 0) == .wait(until: 1_000_000_000))
        #expect(wait.decide(on: alone, at: 1_000_000_000) == .useless)
        #expect(wait.decide(on: alone, at: 9_000_000_000) == .wait(until: nil) && wait.isUseless)
        let late = reader(of: try audio() + [metadata(["framerate": 25]), configuration()] + frames(0..<1))
        #expect(wait.decide(on: late, at: 10_000_000_000) == .known)
        // If audio alone is accepted, the publisher goes on air.
        var other = PublisherWait(for: nil)
        _ = other.decide(on: alone, at: 0)
        #expect(other.decide(on: alone, at: 1_000_000_000) == .known)
    }

    @Test("If audio is required, a publisher of video alone is reported as useless")
    func videoAlone() throws {
        let reader = reader(
            of: try [metadata(["videocodecid": 7, "framerate": 25]), configuration()] + frames(0..<1))
        var wait = PublisherWait(for: .audio)
        #expect(wait.decide(on: reader, at: 0) == .wait(until: 1_000_000_000))
        #expect(wait.decide(on: reader, at: 1_000_000_000) == .useless)
    }

    @Test("If a publisher leaves within a second, relay waits for the next without limit, and then the full time")
    func gone() throws {
        var wait = PublisherWait(for: nil)
        let first = reader(of: try audio())
        #expect(wait.decide(on: first, at: 0) == .wait(until: 1_000_000_000))
        wait.restart()
        #expect(wait.decide(on: RTMPPacketReader(), at: 1_000_000_000) == .wait(until: nil))
        #expect(wait.decide(on: first, at: 50_000_000_000) == .wait(until: 51_000_000_000))
    }

    @Test("If no frame rate is announced, 12 frame intervals are measured, for a second at most")
    func rate() throws {
        let head = try [metadata(["videocodecid": 7]), configuration()]
        let short = reader(of: try head + frames(0..<12))
        var wait = PublisherWait(for: .video)
        #expect(wait.decide(on: short, at: 0) == .wait(until: 1_000_000_000))
        #expect(wait.decide(on: short, at: 1_000_000_000) == .known)
        let long = reader(of: try head + frames(0..<13))
        wait.restart()
        #expect(wait.decide(on: long, at: 0) == .known)
        #expect(long.measuredStream.video?.nominalRate == FrameRate(25))
        var next = short
        _ = next.read(try frames(12..<13)[0])
        #expect(!short.knowsAsMuch(as: next), "so the one who waits is woken")
    }

    @Test("An announced frame rate is not replaced by the measured one")
    func announcedRate() throws {
        let reader = reader(of: try [metadata(["framerate": 50]), configuration()] + frames(0..<20))
        #expect(reader.measuredStream.video?.nominalRate == FrameRate(50))
    }
}
