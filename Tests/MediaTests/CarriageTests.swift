// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@Suite("Codecs that a protocol or container carries")
struct CarriageTests {
    private func track(_ codec: Codec) -> TrackDescription {
        switch codec.kind {
        case .video:
            TrackDescription(
                video: codec, frames: FrameFormat(width: 16, height: 16), timeBase: .milliseconds,
                decoderConfiguration: SharedBytes([1]))
        case .audio: TrackDescription(audio: codec, format: .program, decoderConfiguration: SharedBytes([1]))
        case .data: TrackDescription(data: codec, timeBase: .milliseconds)
        }
    }

    private func stream(_ codecs: Codec...) -> StreamDescription {
        codecs.reduce(into: StreamDescription()) { stream, codec in
            switch codec.kind {
            case .video: stream.video = track(codec)
            case .audio: stream.audio = track(codec)
            case .data: stream.data.append(track(codec))
            }
        }
    }

    @Test(
        "Every protocol and container carries H.264 and AAC",
        arguments: [Carriage.rtmp, .enhancedRTMP, .transportStream, .movie, .hls])
    func common(carriage: Carriage) {
        #expect(carriage.refusal(of: stream(.h264, .aac)) == nil)
        #expect(carriage.refusal(of: stream(.h264)) == nil && carriage.refusal(of: stream(.aac)) == nil)
    }

    @Test(
        "The refusal of a stream names exactly the codecs that cannot be carried",
        arguments: [
            (.rtmp, "HEVC and Opus cannot be carried by RTMP."), (.transportStream, nil), (.movie, nil), (.hls, nil),
            (.enhancedRTMP, nil),
        ] as [(Carriage, String?)])
    func refusal(carriage: Carriage, text: String?) {
        #expect(carriage.refusal(of: stream(.hevc, .opus)) == text)
    }

    @Test("A transport stream refuses AV1, HLS refuses AC-3 and MP3, and timed data is never refused")
    func others() {
        #expect(
            Carriage.transportStream.refusal(of: stream(.av1, .aac)) == "AV1 cannot be carried by a transport stream.")
        #expect(Carriage.hls.refusal(of: stream(.h264, .ac3)) == "AC-3 cannot be carried by HLS.")
        #expect(Carriage.hls.refusal(of: stream(.h264, .mp3)) == "MP3 cannot be carried by HLS.")
        #expect(Carriage.hls.refusal(of: stream(.h264, .aac, .scte35)) == nil)
    }

    @Test("A stream description matches only packets of its own track descriptions, not packets of equal descriptions")
    func streams() {
        let (first, second) = (track(.h264), track(.h264))
        let packet = EncodedPacket(
            of: second, pts: 0, dts: 0, duration: 1, isKeyframe: true, payload: SharedBytes([0]))
        let stream = StreamDescription(video: first)
        #expect(!stream.holds(packet) && stream.updated(by: packet).holds(packet))
        #expect(!stream.updated(by: packet).isIdentical(to: stream))
        #expect(
            StreamDescription().leadingKind == .video && StreamDescription(audio: track(.aac)).leadingKind == .audio)
    }

    @Test("The header of an AC-3 frame has all values that MP4 needs")
    func ac3() {
        // 48 kHz, 192 kbit/s, version 8, complete main, stereo (acmod 2, dsurmod 0), no LFE.
        #expect(AC3Header.specificBox([0x0B, 0x77, 0, 0, 0x14, 0x40, 0x40, 0]) == [0x10, 0x11, 0x40])
        // 448 kbit/s, 5.1 (acmod 7: center and surround levels precede the LFE bit).
        #expect(AC3Header.specificBox([0x0B, 0x77, 0, 0, 0x1E, 0x40, 0xE1, 0]) == [0x10, 0x3D, 0xE0])
        #expect(AC3Header.specificBox([0x0B, 0x77, 0, 0, 0xFF, 0x40, 0x40, 0]) == nil)
        #expect(AC3Header.specificBox([0x0B, 0x77, 0]) == nil)
    }
}
