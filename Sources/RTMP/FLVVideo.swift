// SPDX-License-Identifier: Apache-2.0

package import Media

/// The body of a video message without its header (Adobe FLV 10.1, E.4.3; Enhanced RTMP v2, "Enhanced Video").
package struct FLVVideo: Sendable {
    /// The supported codecs. The raw value is the codec's FourCC in Enhanced RTMP.
    package enum Codec: String, Sendable, CaseIterable {
        case avc = "avc1"
        case hevc = "hvc1"
        case av1 = "av01"
    }

    /// The content of the message.
    package enum Content: Sendable {
        /// The decoder configuration record: for AVC and HEVC ISO/IEC 14496-15, 5.3.3.1 and 8.3.3.1; for AV1 `av1C`.
        case configuration(SharedBytes)
        /// One frame: NAL units preceded by their lengths, or the OBUs of a temporal unit.
        ///
        /// The composition time is in milliseconds; the message's timestamp is the decoding time.
        case frame(SharedBytes, isKeyframe: Bool, isDisposable: Bool, compositionTime: Int32)
        /// The stream with the last configuration has ended: no packets of this stream follow.
        case end
    }

    /// The codec of the video in the message.
    package let codec: Codec
    /// What the video message contains.
    package let content: Content

    /// Parses the body of a message; nil if it contains no video of the first track but, for example, color metadata or
    /// a command.
    package init?(body: ArraySlice<UInt8>) throws(FLVFailure) {
        var reader = FLVReader(body)
        guard !body.isEmpty else { return nil }
        let first = try reader.byte()
        let frameType = first >> 4 & 0x07
        // A body with frame type 5 has no frame, but a command to the player.
        guard frameType != 5 else { return nil }
        if first & 0x80 == 0 {
            guard let codec = Self.legacyCodecs[first & 0x0F] else { throw .unsupported("video codec \(first & 0x0F)") }
            self.codec = codec
            let type = try reader.byte()
            let time = try reader.signed24()
            guard let content = Self.content(type, reader.bytes, frameType, time: time) else { return nil }
            self.content = content
        } else {
            let packets = try reader.packets(type: first & 0x0F, multitrack: 6)
            guard let packet = packets.first(where: { $0.track == 0 }), packet.type != Self.metadata else { return nil }
            guard let codec = Codec(rawValue: packet.fourCC) else {
                throw .unsupported("video codec \(Self.printable(packet.fourCC))")
            }
            self.codec = codec
            var payload = FLVReader(packet.payload)
            let hasTime = packet.type == FLVPacket.Kind.codedFrames && codec != .av1
            let time = hasTime ? try payload.signed24() : 0
            let type = packet.type == Self.codedFramesX ? FLVPacket.Kind.codedFrames : packet.type
            guard let content = Self.content(type, payload.bytes, frameType, time: time) else { return nil }
            self.content = content
        }
    }

    /// Codec numbers of the old form. Encoders in China use 12 for HEVC.
    private static let legacyCodecs: [UInt8: Codec] = [7: .avc, 12: .hevc]
    /// The packet type of coded frames with a composition time of 0.
    static let codedFramesX: UInt8 = 3
    private static let metadata: UInt8 = 4

    private static func content(
        _ type: UInt8, _ bytes: ArraySlice<UInt8>, _ frameType: UInt8, time: Int32
    ) -> Content? {
        switch type {
        case FLVPacket.Kind.sequenceStart: bytes.isEmpty ? nil : .configuration(SharedBytes(bytes))
        case FLVPacket.Kind.codedFrames:
            // Frame type 1 is a keyframe, 4 is a keyframe that a server generated, and 3 is a disposable frame.
            bytes.isEmpty
                ? nil
                : .frame(
                    SharedBytes(bytes), isKeyframe: frameType == 1 || frameType == 4, isDisposable: frameType == 3,
                    compositionTime: time)
        case FLVPacket.Kind.sequenceEnd: .end
        default: nil
        }
    }

    /// A peer's FourCC for logs: characters other than ASCII letters, digits, `-` and `.` become `?`.
    static func printable(_ code: String) -> String {
        String(code.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-.".contains($0)) ? $0 : "?" })
    }
}

extension FLVVideo.Codec {
    /// The video codec of Enhanced RTMP that is the same as `codec`; nil if `codec` uses Adobe's FLV form, or is no
    /// video codec.
    init?(enhanced codec: Media.Codec) {
        switch codec {
        case .hevc: self = .hevc
        case .av1: self = .av1
        case .h264, .aac, .opus, .mp3, .ac3, .pcm, .scte35, .amf0, .text: return nil
        }
    }
}

extension Media.Codec {
    /// The codec's FourCC in Enhanced RTMP; nil for any other codec, such as one that uses Adobe's FLV form.
    var enhancedFourCC: String? { FLVVideo.Codec(enhanced: self)?.rawValue ?? FLVAudio.Codec(enhanced: self)?.rawValue }
}
