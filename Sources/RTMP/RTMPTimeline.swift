// SPDX-License-Identifier: Apache-2.0

package import Media

/// The clock of one connection: milliseconds since its first packet.
package struct RTMPTimeline {
    private var origin: Int64?
    private var lastVideo: Int64 = 0
    private var lastAudio: Int64 = 0
    private var lastData: Int64 = 0

    /// A clock that begins with the first packet.
    package init() {}

    /// When `packet` is sent, in milliseconds; moves the clock there. Asked again it says the same.
    package mutating func timestamp(of packet: EncodedPacket) -> Int64 {
        let decoding = packet.dtsNanoseconds.milliseconds
        let start = origin ?? decoding
        origin = start
        // Receivers take a step back for a wrap of the 32-bit clock.
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

    /// The message that carries `packet`, which must be of video, of audio or of AMF0 data.
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
            return RTMPMessage(kind: .data, timestamp: timestamp, payload: packet.payload)
        }
    }
}

extension RTMPTimeline {
    private static func audioPrefix(_ track: TrackDescription) -> RTMPMessage.Prefix {
        if let codec = FLVAudio.Codec(enhanced: track.codec) { return .enhancedAudio(codec, packetType: 1) }
        return track.codec == .mp3 ? .mp3 : .audio(packetType: 1)
    }

    private static func videoPrefix(_ packet: EncodedPacket) -> RTMPMessage.Prefix {
        // Both are floored before they are subtracted: flooring the difference would be 1 ms off in most frames.
        let offset = Int32(clamping: packet.ptsNanoseconds.milliseconds - packet.dtsNanoseconds.milliseconds)
        guard let codec = FLVVideo.Codec(enhanced: packet.description.codec) else {
            return .video(isKeyframe: packet.isKeyframe, packetType: 1, compositionTime: offset)
        }
        return .enhancedVideo(codec, isKeyframe: packet.isKeyframe, packetType: 1, compositionTime: offset)
    }
}

extension Int64 {
    /// Nanoseconds as milliseconds, rounded down; the same as rounding down from any finer clock at once.
    fileprivate var milliseconds: Int64 { self >= 0 ? self / 1_000_000 : (self - 999_999) / 1_000_000 }
}
