// SPDX-License-Identifier: Apache-2.0

/// The tracks of a program as they are coded now. A camera may have no audio, a radio no video.
///
/// A value that is passed on whole; what it refers to is compared by identity.
package struct StreamDescription: Sendable {
    /// The video, if there is any.
    package var video: TrackDescription?
    /// The audio, if there is any.
    package var audio: TrackDescription?
    /// Timed data.
    package var data: [TrackDescription]

    /// A description of these tracks. Each must be of its kind.
    package init(video: TrackDescription? = nil, audio: TrackDescription? = nil, data: [TrackDescription] = []) {
        precondition(video.map { $0.kind == .video } ?? true && audio.map { $0.kind == .audio } ?? true)
        precondition(data.allSatisfy { $0.kind == .data }, "a track is of its kind")
        self.video = video
        self.audio = audio
        self.data = data
    }

    /// All tracks: video, audio, data.
    package var tracks: [TrackDescription] { [video, audio].compactMap(\.self) + data }

    /// The track at whose keyframes the program can be begun, cut and joined: the video, or else the audio, of which
    /// every packet is a keyframe. Video, as long as no track is known.
    package var leadingKind: TrackKind { video == nil && audio != nil ? .audio : .video }

    /// Whether there is splice information (SCTE 35).
    package var hasSplices: Bool { data.contains { $0.codec == .scte35 } }

    /// Average bits a second of all tracks, as far as they are known.
    package var bitrate: Int { tracks.reduce(0) { $0 + $1.bitrate } }

    /// Whether `other` has the same tracks, each the same object.
    package func isIdentical(to other: StreamDescription) -> Bool {
        video === other.video && audio === other.audio && data.elementsEqual(other.data, by: ===)
    }

    /// Whether `packet` is coded as its track here says.
    @inlinable
    package func holds(_ packet: EncodedPacket) -> Bool {
        switch packet.track {
        case .video: packet.description === video
        case .audio: packet.description === audio
        case .data: data.contains { $0 === packet.description }
        }
    }

    /// The same tracks but for the one that `packet` belongs to, which is coded as the packet says.
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
