// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The video on air, with the information that the web page needs to play it.
struct VideoReport: Encodable {
    let codec: String
    let width: Int
    let height: Int
    /// The codec string of RFC 6381; nil if relay does not make such a string for the codec.
    let codecString: String?
    /// The bitrate of the video in bits per second; nil if it is unknown.
    let bitrate: Int?

    init(_ track: TrackDescription) {
        codec = track.codec.rawValue
        (width, height) = (track.frameFormat?.width ?? 0, track.frameFormat?.height ?? 0)
        bitrate = track.bitrate > 0 ? track.bitrate : nil
        codecString = Self.name(track)
    }

    /// Returns `avc1` with profile, constraints and level in hexadecimal digits (ISO/IEC 14496-15, annex E.3), which
    /// are bytes 1 to 3 of the decoder configuration. For HEVC and AV1 it returns only the name of the sample entry;
    /// for other codecs, nil.
    private static func name(_ track: TrackDescription) -> String? {
        switch track.codec {
        case .h264:
            let bytes = track.decoderConfiguration.array.prefix(4).dropFirst()
            guard bytes.count == 3 else { return nil }
            let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            return "avc1.\(digits.joined())"
        case .hevc: return "hvc1"
        case .av1: return "av01"
        default: return nil
        }
    }
}

/// The audio on air.
struct AudioReport: Encodable {
    let codec: String
    let sampleRate: Int
    let channels: Int
    /// The codec string of RFC 6381; nil if relay does not make such a string for the codec.
    let codecString: String?

    init(_ track: TrackDescription) {
        codec = track.codec.rawValue
        (sampleRate, channels) = (Int(track.audioFormat?.sampleRate ?? 0), track.audioFormat?.channels ?? 0)
        switch track.codec {
        case .aac:
            // The object type is in the first five bits of the AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1).
            let type = track.decoderConfiguration.array.first.map { $0 >> 3 } ?? 2
            codecString = "mp4a.40.\(type == 31 ? 2 : type)"
        case .mp3: codecString = "mp4a.6b"
        case .opus: codecString = "opus"
        case .ac3: codecString = "ac-3"
        default: codecString = nil
        }
    }
}
