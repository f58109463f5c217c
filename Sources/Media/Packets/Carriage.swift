// SPDX-License-Identifier: Apache-2.0

/// What can carry a stream, and which codecs it has a place for. Pure: an output asks before it goes live, so that what it
/// cannot carry is refused by name.
package struct Carriage: Sendable, Equatable, CustomStringConvertible {
    /// The name as people write it, such as `a transport stream`.
    package let description: String
    /// The codecs that it carries.
    package let codecs: Set<Codec>

    /// What people call `description`, and carries `codecs`.
    package init(_ description: String, codecs: Set<Codec>) {
        (self.description, self.codecs) = (description, codecs)
    }

    /// RTMP as Adobe has it (FLV 10.1, E.4.2 and E.4.3).
    package static let rtmp = Carriage("RTMP", codecs: [.h264, .aac, .mp3, .amf0, .text])
    /// RTMP with FourCCs (Enhanced RTMP v2), for servers that understand it.
    package static let enhancedRTMP = Carriage(
        "Enhanced RTMP", codecs: [.h264, .hevc, .av1, .aac, .opus, .mp3, .ac3, .amf0, .text])
    /// An MPEG transport stream: SRT, UDP and recordings in `.ts`. libavformat 5.1 writes AV1 as private data, which no
    /// receiver reads.
    package static let transportStream = Carriage(
        "a transport stream", codecs: [.h264, .hevc, .aac, .opus, .mp3, .ac3])
    /// Recordings in `.mp4`.
    package static let movie = Carriage("MP4", codecs: [.h264, .hevc, .av1, .aac, .opus, .mp3, .ac3])
    /// Fragmented MP4 segments with a playlist. Players of segments take MP3 in other containers only; libavformat writes
    /// AC-3 into no header without a sample.
    package static let hls = Carriage("HLS", codecs: [.h264, .hevc, .av1, .aac, .opus, .text])

    /// Why `stream` cannot be carried, in one sentence; nil if it can. Timed data that has no place is left out and no
    /// reason.
    package func refusal(of stream: StreamDescription) -> String? {
        let others = [stream.video, stream.audio].compactMap { $0?.codec }.filter { !codecs.contains($0) }
        guard !others.isEmpty else { return nil }
        return "\(others.map(\.description).joined(separator: " and ")) cannot be carried by \(self)."
    }
}
