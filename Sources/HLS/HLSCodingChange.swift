// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Holds packets back when the coding changes, until it is known which tracks change together. One header describes
/// both tracks, and a new sender usually changes the coding of both.
///
/// After a keyframe with a new coding, packets are held until the next audio packet. After an audio packet with a new
/// coding, packets are held until the next frame. That frame is a keyframe with a new coding, or it continues the old
/// video. Nothing is held if the stream has only one track.
///
/// This value does no I/O.
struct HLSCodingChange {
    /// What must be done with a packet.
    enum Verdict {
        /// The packet is held back.
        case held
        /// The packet is written with the current coding.
        case passed
        /// The current series of segments ends. A new series, with its own header, begins with the coding of these
        /// packets, which are written in this order.
        case decided([EncodedPacket])
    }

    /// The maximum time for which a keyframe with a new coding waits for audio, and the maximum time for which audio
    /// with a new coding waits for a frame. Both are measured in the times of the media.
    private static let (longest, longestAudio): (Duration, Duration) = (.seconds(3), .milliseconds(500))

    private var held: [EncodedPacket] = []

    /// Decides what must be done with the next packet. `streams` has the tracks and codings that are written at
    /// present.
    mutating func take(_ packet: EncodedPacket, behind streams: StreamDescription) -> Verdict {
        guard packet.track != .data else { return .passed }
        guard let first = held.first else {
            let begins = streams.video != nil && streams.audio != nil && packet.isKeyframe && !streams.holds(packet)
            if begins { held = [packet] }
            return begins ? .held : .passed
        }
        return first.track == .video ? follow(packet, keyframe: first, streams) : follow(packet, audio: first)
    }

    /// Decides what must be done with a packet that follows a keyframe with a new coding.
    private mutating func follow(
        _ packet: EncodedPacket, keyframe: EncodedPacket, _ streams: StreamDescription
    ) -> Verdict {
        let isAudio = packet.track == .audio
        let isOld = packet.description === streams.audio
        if isAudio, isOld, packet.programPts < keyframe.programPts { return .passed }
        held.append(packet)
        let isOver = packet.programDts - keyframe.programDts > Self.longest
        return isAudio || isOver ? .decided(takeAll()) : .held
    }

    /// Decides what must be done with a packet that follows an audio packet with a new coding.
    private mutating func follow(_ packet: EncodedPacket, audio: EncodedPacket) -> Verdict {
        let isOver = packet.programDts - audio.programDts > Self.longestAudio
        held.append(packet)
        return packet.track == .video || isOver ? .decided(takeAll()) : .held
    }

    /// Returns the packets that are held back, and empties the list of held packets.
    mutating func takeAll() -> [EncodedPacket] {
        defer { held = [] }
        return held
    }
}
