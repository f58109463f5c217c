// SPDX-License-Identifier: Apache-2.0

/// The current coding of each track of a program. Video and audio are optional: a camera may have no audio, a radio no
/// video.
///
/// It is a value type. The track descriptions in it are objects that are compared by identity.
package struct StreamDescription: Sendable {
    /// The video track, if any.
    package var video: TrackDescription?
    /// The audio track, if any.
    package var audio: TrackDescription?
    /// The tracks of timed data.
    package var data: [TrackDescription]

    /// Creates a description. `video` must be a video track, `audio` an audio track, and `data` tracks of timed data.
    package init(video: TrackDescription? = nil, audio: TrackDescription? = nil, data: [TrackDescription] = []) {
        precondition(video.map { $0.kind == .video } ?? true && audio.map { $0.kind == .audio } ?? true)
        precondition(data.allSatisfy { $0.kind == .data }, "a track is of its kind")
        self.video = video
        self.audio = audio
        self.data = data
    }

    /// All tracks: video, audio, data.
    package var tracks: [TrackDescription] { [video, audio].compactMap(\.self) + data }

    /// The kind of the leading track: the video, or the audio if there is no video. At the leading track's keyframes a
    /// program can start, be cut and be joined. Every audio packet is a keyframe. If no track is known yet, the leading
    /// track is the video.
    package var leadingKind: TrackKind { video == nil && audio != nil ? .audio : .video }

    /// Whether the program has a track of splice information (SCTE 35).
    package var hasSplices: Bool { data.contains { $0.codec == .scte35 } }

    /// Sum of the tracks' known average bitrates, in bits per second.
    package var bitrate: Int { tracks.reduce(0) { $0 + $1.bitrate } }

    /// Whether `other` refers to the same track descriptions, compared by identity.
    package func isIdentical(to other: StreamDescription) -> Bool {
        video === other.video && audio === other.audio && data.elementsEqual(other.data, by: ===)
    }

    /// Whether `packet` has the same coding as its track in this description.
    @inlinable
    package func holds(_ packet: EncodedPacket) -> Bool {
        switch packet.track {
        case .video: packet.description === video
        case .audio: packet.description === audio
        case .data: data.contains { $0 === packet.description }
        }
    }

    /// The same description, but with the coding of `packet` for its track. For timed data, this is the track with the
    /// packet's codec.
    package func updated(by packet: EncodedPacket) -> StreamDescription {
        var next = self
        switch packet.track {
        case .video: next.video = packet.description
        case .audio: next.audio = packet.description
        case .data:
            let codec = packet.description.codec
            next.data = data.filter { $0.codec != codec } + [packet.description]
        }
        return next
    }
}
