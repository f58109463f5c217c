// SPDX-License-Identifier: Apache-2.0

/// The codec of a track. The raw values appear in the status.
package enum Codec: String, Sendable, Hashable, Codable, CaseIterable, CustomStringConvertible {
    /// ITU-T H.264 (AVC).
    case h264
    /// ITU-T H.265 (HEVC).
    case hevc
    /// AOMedia AV1.
    case av1
    /// AAC (ISO/IEC 14496-3), any object type.
    case aac
    /// Opus (RFC 6716).
    case opus
    /// MPEG-1 or MPEG-2 audio, layer III.
    case mp3
    /// Dolby AC-3 (ETSI TS 102 366).
    case ac3
    /// Decoded audio: 32-bit floating-point samples, interleaved, least significant byte first. An input passes it to
    /// an encoder; no output carries it.
    case pcm
    /// Splice information for advertisements (ANSI/SCTE 35): timed data.
    case scte35
    /// Timed metadata and cue points in AMF0, the format of FLV's data messages.
    case amf0
    /// The text of an operator's marker, in UTF-8, at a time of the program: timed data.
    case text

    /// The kind of track that uses this codec.
    package var kind: TrackKind {
        switch self {
        case .h264, .hevc, .av1: .video
        case .aac, .opus, .mp3, .ac3, .pcm: .audio
        case .scte35, .amf0, .text: .data
        }
    }

    /// The display name.
    package var description: String {
        switch self {
        case .h264: "H.264"
        case .hevc: "HEVC"
        case .av1: "AV1"
        case .aac: "AAC"
        case .opus: "Opus"
        case .mp3: "MP3"
        case .ac3: "AC-3"
        case .pcm: "PCM"
        case .scte35: "SCTE-35"
        case .amf0: "AMF0 data"
        case .text: "text"
        }
    }
}
