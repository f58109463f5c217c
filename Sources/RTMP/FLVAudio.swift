// SPDX-License-Identifier: Apache-2.0

package import Media

/// The body of an audio message without its header (Adobe FLV 10.1, E.4.2; Enhanced RTMP v2, "Enhanced Audio").
package struct FLVAudio: Sendable {
    /// The supported codecs. The raw value is the codec's FourCC in Enhanced RTMP.
    package enum Codec: String, Sendable, CaseIterable {
        case aac = "mp4a"
        case opus = "Opus"
        case ac3 = "ac-3"
        case eac3 = "ec-3"
        case flac = "fLaC"
        case mp3 = ".mp3"
    }

    /// The content of the message.
    package enum Content: Sendable {
        /// The codec configuration: for AAC the `AudioSpecificConfig`, for Opus the identification header, for FLAC the
        /// metadata blocks.
        case configuration(SharedBytes)
        /// One or more coded frames.
        case frame(SharedBytes)
        /// The stream with the last configuration has ended: no packets of this stream follow.
        case end
    }

    /// The codec of the audio in the message.
    package let codec: Codec
    /// What the audio message contains.
    package let content: Content

    /// The tracks in the message other than the first, such as `audio track 2 (AAC)`.
    package let otherTracks: [String]

    /// Parses the body of a message. Returns nil if the body is empty or contains no audio but, for example, a channel
    /// layout. Throws ``FLVFailure/otherTracks(_:)`` if it has only tracks other than the first.
    package init?(body: ArraySlice<UInt8>) throws(FLVFailure) {
        var reader = FLVReader(body)
        guard !body.isEmpty else { return nil }
        let first = try reader.byte()
        let type: UInt8
        let payload: ArraySlice<UInt8>
        var others: [String] = []
        switch first >> 4 {
        case 10:
            codec = .aac
            type = try reader.byte()
            payload = reader.bytes
        case 2, 14:
            codec = .mp3
            type = FLVPacket.Kind.codedFrames
            payload = reader.bytes
        case 9:
            let packets = try reader.packets(type: first & 0x0F, multitrack: 5)
            others = packets.filter { $0.track > 0 }.map(Self.title)
            guard let packet = packets.first(where: { $0.track == 0 }) else { throw .otherTracks(others) }
            guard packet.type != Self.channels else { return nil }
            guard let codec = Codec(rawValue: packet.fourCC) else {
                throw .unsupported("audio codec \(FLVVideo.printable(packet.fourCC))")
            }
            self.codec = codec
            (type, payload) = (packet.type, packet.payload)
        default:
            throw .unsupported("audio codec \(Self.names[first >> 4] ?? "\(first >> 4)")")
        }
        otherTracks = others
        switch type {
        case FLVPacket.Kind.sequenceStart where !payload.isEmpty: content = .configuration(SharedBytes(payload))
        case FLVPacket.Kind.codedFrames where !payload.isEmpty: content = .frame(SharedBytes(payload))
        case FLVPacket.Kind.sequenceEnd: content = .end
        default: return nil
        }
    }

    /// The display name of a track; the first is number 1.
    private static func title(_ packet: FLVPacket) -> String {
        let codec = Codec(rawValue: packet.fourCC).map(\.title) ?? FLVVideo.printable(packet.fourCC)
        return "audio track \(Int(packet.track) + 1) (\(codec))"
    }

    /// The packet type of a message that describes the order of the channels.
    private static let channels: UInt8 = 4
    /// The names of old formats by their number (E.4.2.1). The report of an unsupported codec uses them.
    private static let names: [UInt8: String] = [
        0: "PCM", 1: "ADPCM", 3: "PCM", 4: "Nellymoser", 5: "Nellymoser", 6: "Nellymoser", 7: "G.711", 8: "G.711",
        11: "Speex",
    ]
}

extension FLVAudio.Codec {
    /// The codec's display name.
    fileprivate var title: String {
        switch self {
        case .aac: "AAC"
        case .opus: "Opus"
        case .ac3: "AC-3"
        case .eac3: "E-AC-3"
        case .flac: "FLAC"
        case .mp3: "MP3"
        }
    }
}

extension FLVAudio.Codec {
    /// The audio codec of Enhanced RTMP that is the same as `codec`; nil if `codec` uses Adobe's FLV form, or is no
    /// audio codec.
    init?(enhanced codec: Media.Codec) {
        switch codec {
        case .opus: self = .opus
        case .ac3: self = .ac3
        case .h264, .hevc, .av1, .aac, .mp3, .pcm, .scte35, .amf0, .text: return nil
        }
    }
}
