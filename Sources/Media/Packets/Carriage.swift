// SPDX-License-Identifier: Apache-2.0

/// A protocol or container, and the codecs that it can carry. Before an output goes live, the output checks the
/// stream's codecs against these codecs, so that a refusal can name the codecs that cannot be carried.
package struct Carriage: Sendable, Equatable, CustomStringConvertible {
    /// The usual name, such as `a transport stream`.
    package let description: String
    /// The codecs that the protocol or container can carry.
    package let codecs: Set<Codec>

    /// A protocol or container with the name `description`, which carries `codecs`.
    package init(_ description: String, codecs: Set<Codec>) {
        (self.description, self.codecs) = (description, codecs)
    }

    /// RTMP as Adobe specifies it (FLV 10.1, E.4.2 and E.4.3).
    package static let rtmp = Carriage("RTMP", codecs: [.h264, .aac, .mp3, .amf0, .text])
    /// RTMP with FourCCs (Enhanced RTMP v2), for servers that support it.
    package static let enhancedRTMP = Carriage(
        "Enhanced RTMP", codecs: [.h264, .hevc, .av1, .aac, .opus, .mp3, .ac3, .amf0, .text])
    /// An MPEG transport stream: SRT, UDP and recordings in `.ts`. The libavformat of FFmpeg 5.1 writes AV1 as private
    /// data, which no receiver reads.
    package static let transportStream = Carriage(
        "a transport stream", codecs: [.h264, .hevc, .aac, .opus, .mp3, .ac3])
    /// Recordings in `.mp4`.
    package static let movie = Carriage("MP4", codecs: [.h264, .hevc, .av1, .aac, .opus, .mp3, .ac3])
    /// Fragmented MP4 segments with a playlist. MP3 is missing, because players accept it only in segments of other
    /// containers. AC-3 is missing, because libavformat cannot write the track's header before it has a sample.
    package static let hls = Carriage("HLS", codecs: [.h264, .hevc, .av1, .aac, .opus, .text])

    /// Why `stream` cannot be carried, in one sentence; nil if it can. Timed data that cannot be carried is left out of
    /// the stream; it does not cause a refusal.
    package func refusal(of stream: StreamDescription) -> String? {
        let others = [stream.video, stream.audio].compactMap { $0?.codec }.filter { !codecs.contains($0) }
        guard !others.isEmpty else { return nil }
        return "\(others.map(\.description).joined(separator: " and ")) cannot be carried by \(self)."
    }
}
