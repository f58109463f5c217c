// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import TestSupport
import Testing

@testable import RTMP

/// Bodies of messages by codec (Adobe FLV 10.1, E.4; Enhanced RTMP v2).
@Suite struct RTMPCodecTests {
    private static let payload = SharedBytes([0xAB, 0xCD])

    private func video(_ codec: Codec) -> TrackDescription {
        TrackDescription(
            video: codec, frames: FrameFormat(width: 640, height: 360), timeBase: .milliseconds,
            decoderConfiguration: SharedBytes([1, 2, 3]))
    }

    private func audio(_ codec: Codec) -> TrackDescription {
        TrackDescription(audio: codec, format: .program, decoderConfiguration: SharedBytes([4, 5]))
    }

    private func body(_ message: RTMPMessage) -> [UInt8] {
        var prefix = [UInt8](repeating: 0, count: message.prefix.count)
        prefix.withUnsafeMutableBytes { message.prefix.write(to: $0, at: 0) }
        return prefix + message.payload.array
    }

    private func frame(_ track: TrackDescription, isKeyframe: Bool = true, offset: Int64 = 0) -> [UInt8] {
        var timeline = RTMPTimeline()
        return body(
            timeline.message(
                for: EncodedPacket(
                    of: track, pts: offset, dts: 0, duration: 1, isKeyframe: isKeyframe, payload: Self.payload)))
    }

    private func headers(_ stream: StreamDescription) -> [[UInt8]] {
        RTMPHeaders.messages(for: stream).dropFirst().map(body)
    }

    @Test("In RTMP, HEVC and AV1 are sent with their FourCC, and HEVC also with a composition time")
    func enhancedVideo() {
        #expect(frame(video(.hevc), offset: 80) == [0x91] + Array("hvc1".utf8) + [0, 0, 80, 0xAB, 0xCD])
        #expect(frame(video(.hevc), isKeyframe: false) == [0xA3] + Array("hvc1".utf8) + [0xAB, 0xCD])
        #expect(frame(video(.av1)) == [0x91] + Array("av01".utf8) + [0xAB, 0xCD])
        #expect(headers(StreamDescription(video: video(.hevc))) == [[0x90] + Array("hvc1".utf8) + [1, 2, 3]])
        #expect(headers(StreamDescription(video: video(.av1))) == [[0x90] + Array("av01".utf8) + [1, 2, 3]])
    }

    @Test("In RTMP, Opus and AC-3 are sent with their FourCC, and MP3 with the legacy tag")
    func audioCodecs() {
        #expect(frame(audio(.opus)) == [0x91] + Array("Opus".utf8) + [0xAB, 0xCD])
        #expect(headers(StreamDescription(audio: audio(.opus))) == [[0x90] + Array("Opus".utf8) + [4, 5]])
        #expect(frame(audio(.ac3)) == [0x91] + Array("ac-3".utf8) + [0xAB, 0xCD])
        #expect(frame(audio(.mp3)) == [0x2F, 0xAB, 0xCD])
        #expect(headers(StreamDescription(audio: audio(.mp3))).isEmpty)
        #expect(headers(StreamDescription(audio: audio(.ac3))).isEmpty)
    }

    @Test("The RTMP metadata omits a missing track, and omits a frame rate that is variable")
    func metadata() {
        func text(_ stream: StreamDescription) -> String {
            String(decoding: RTMPHeaders.metadata(stream), as: UTF8.self)
        }
        let camera = text(StreamDescription(video: video(.h264)))
        #expect(camera.contains("videocodecid") && !camera.contains("audio") && !camera.contains("framerate"))
        let radio = text(StreamDescription(audio: audio(.aac)))
        #expect(radio.contains("audiocodecid") && !radio.contains("video") && !radio.contains("width"))
        #expect(text(Samples.description).contains("framerate"))
        #expect(headers(StreamDescription(video: video(.h264))).map { $0[0] } == [0x17])
        #expect(headers(StreamDescription(audio: audio(.aac))).map { $0[0] } == [0xAF])
    }

    @Test("If the codec configuration changes in mid-stream, the new RTMP headers have the given timestamp")
    func times() {
        let messages = RTMPHeaders.messages(of: video(.h264), in: StreamDescription(video: video(.h264)), at: 4711)
        #expect(messages.map(\.kind) == [.data, .video] && messages.allSatisfy { $0.timestamp == 4711 })
    }

    @Test("AMF0 data messages are forwarded with their own timestamps")
    func data() {
        let track = TrackDescription(data: .amf0, timeBase: .milliseconds)
        var timeline = RTMPTimeline()
        _ = timeline.message(for: Samples.video(pts: 0, dts: 0, isKeyframe: true))
        let message = timeline.message(
            for: EncodedPacket(of: track, pts: 40, dts: 40, duration: 0, isKeyframe: true, payload: Self.payload))
        #expect(message.kind == .data && message.timestamp == 40 && body(message) == [0xAB, 0xCD])
    }

    @Test("A text message is encoded to the same bytes as by FFmpeg's FLV muxer")
    func text() {
        var timeline = RTMPTimeline()
        #expect(!timeline.hasBegun)
        _ = timeline.message(for: Samples.video(pts: 30, dts: 30, isKeyframe: true))
        #expect(timeline.hasBegun)
        let message = timeline.message(for: EncodedPacket(text: "Tor", at: 1_040_999_999))
        #expect(message.kind == .data && message.timestamp == 40)
        var bytes: [UInt8] = [2, 0, 10] + Array("onTextData".utf8) + [8, 0, 0, 0, 2]
        bytes += [0, 4] + Array("type".utf8) + [2, 0, 4] + Array("Text".utf8)
        bytes += [0, 4] + Array("text".utf8) + [2, 0, 3] + Array("Tor".utf8) + [0, 0, 9]
        #expect(body(message) == bytes)
    }
}
