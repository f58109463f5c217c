// SPDX-License-Identifier: Apache-2.0

/// A protocol or container, with the codecs that it can carry. Pure: an output asks before it goes live, so that it can
/// refuse a codec by name.
package enum Carriage: String, Sendable, CaseIterable, CustomStringConvertible {
    /// RTMP as Adobe specifies it (FLV 10.1, E.4.2 and E.4.3).
    case rtmp
    /// RTMP with FourCCs (Enhanced RTMP v2), for servers that understand it.
    case enhancedRTMP
    /// An MPEG transport stream: SRT, UDP and recordings in `.ts`.
    case transportStream
    /// Recordings in `.mp4`.
    case movie
    /// Fragmented MP4 segments with a playlist.
    case hls

    /// The codecs that it can carry.
    package var codecs: Set<Codec> {
        switch self {
        case .rtmp: [.h264, .aac, .mp3, .amf0, .text]
        case .enhancedRTMP: [.h264, .hevc, .av1, .aac, .opus, .mp3, .ac3, .amf0, .text]
        // libavformat 5.1 writes AV1 as private data, which no receiver reads.
        case .transportStream: [.h264, .hevc, .aac, .opus, .mp3, .ac3]
        case .movie: [.h264, .hevc, .av1, .aac, .opus, .mp3, .ac3]
        // Players of segments accept MP3 in other containers only. libavformat needs a sample of AC-3 to write its
        // header.
        case .hls: [.h264, .hevc, .av1, .aac, .opus, .text]
        }
    }

    /// The display name.
    package var description: String {
        switch self {
        case .rtmp: "RTMP"
        case .enhancedRTMP: "Enhanced RTMP"
        case .transportStream: "a transport stream"
        case .movie: "MP4"
        case .hls: "HLS"
        }
    }

    /// Why `stream` cannot be carried, in one sentence; nil if it can. Timed data that cannot be carried is left out
    /// and is never a reason.
    package func refusal(of stream: StreamDescription) -> String? {
        let others = [stream.video, stream.audio].compactMap { $0?.codec }.filter { !codecs.contains($0) }
        guard !others.isEmpty else { return nil }
        return "\(others.map(\.description).joined(separator: " and ")) cannot be carried by \(self)."
    }
}
