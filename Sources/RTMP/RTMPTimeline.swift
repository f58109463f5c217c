// SPDX-License-Identifier: Apache-2.0

package import Media

/// The clock of one connection: milliseconds since its first packet.
package struct RTMPTimeline {
    private var origin: Int64?
    private var lastVideo: Int64 = 0
    private var lastAudio: Int64 = 0
    private var lastData: Int64 = 0

    /// A clock that starts at the first packet.
    package init() {}

    /// Whether the first packet has started the clock.
    package var hasBegun: Bool { origin != nil }

    /// The timestamp for `packet` in milliseconds; advances the clock to it. Another call for the last packet of a
    /// track returns the same timestamp.
    package mutating func timestamp(of packet: EncodedPacket) -> Int64 {
        let decoding = packet.dtsNanoseconds.milliseconds
        let start = origin ?? decoding
        origin = start
        // A message's timestamp must not be earlier than the last one of its track, because receivers would take the
        // step back for a wrap of the 32-bit clock.
        switch packet.track {
        case .audio:
            lastAudio = max(decoding - start, lastAudio)
            return lastAudio
        case .video:
            lastVideo = max(decoding - start, lastVideo)
            return lastVideo
        case .data:
            lastData = max(decoding - start, lastData)
            return lastData
        }
    }

    /// The message that carries `packet`, which must be video, audio, AMF0 data or a text mark.
    package mutating func message(for packet: EncodedPacket) -> RTMPMessage {
        let timestamp = timestamp(of: packet)
        switch packet.track {
        case .audio:
            return RTMPMessage(
                kind: .audio, timestamp: timestamp, prefix: Self.audioPrefix(packet.description),
                payload: packet.payload)
        case .video:
            return RTMPMessage(
                kind: .video, timestamp: timestamp, prefix: Self.videoPrefix(packet), payload: packet.payload,
                endsFrame: true)
        case .data:
            let payload = packet.text.map { SharedBytes(Self.textData($0)) } ?? packet.payload
            return RTMPMessage(kind: .data, timestamp: timestamp, payload: payload)
        }
    }
}

extension RTMPTimeline {
    /// The body of a data message with a text mark: `onTextData`, with the names that FFmpeg's FLV muxer writes for
    /// text and its demuxer reads as subtitles (libavformat/flvenc.c and flvdec.c). Adobe's `onCuePoint` is not used,
    /// because services expect ad breaks in it (YouTube's `com.youtube.cuepoint`, AWS Elemental's
    /// `ON_CUE_POINT_SCTE35`).
    private static func textData(_ text: String) -> [UInt8] {
        var writer = AMF0Writer()
        writer.write("onTextData")
        writer.writeArray([("type", .string("Text")), ("text", .string(text))])
        return writer.bytes
    }

    private static func audioPrefix(_ track: TrackDescription) -> RTMPMessage.Prefix {
        if let codec = FLVAudio.Codec(enhanced: track.codec) { return .enhancedAudio(codec, packetType: 1) }
        return track.codec == .mp3 ? .mp3 : .audio(packetType: 1)
    }

    private static func videoPrefix(_ packet: EncodedPacket) -> RTMPMessage.Prefix {
        // The presentation and the decoding time are both rounded down before the subtraction: rounding the difference
        // would be wrong by 1 ms for most frames.
        let offset = Int32(clamping: packet.ptsNanoseconds.milliseconds - packet.dtsNanoseconds.milliseconds)
        guard let codec = FLVVideo.Codec(enhanced: packet.description.codec) else {
            return .video(isKeyframe: packet.isKeyframe, packetType: 1, compositionTime: offset)
        }
        return .enhancedVideo(codec, isKeyframe: packet.isKeyframe, packetType: 1, compositionTime: offset)
    }
}

extension Int64 {
    /// Nanoseconds as milliseconds, rounded down. If the nanoseconds were rounded down before, the result is the same
    /// as with a single rounding.
    fileprivate var milliseconds: Int64 { self >= 0 ? self / 1_000_000 : (self - 999_999) / 1_000_000 }
}
