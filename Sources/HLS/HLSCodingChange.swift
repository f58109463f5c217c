// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Keeps packets back where the coding changes, until it is known which tracks change together. This is necessary
/// because one header describes both tracks, and a new sender usually has other audio as well.
///
/// From a keyframe with a new coding on, packets wait for the next audio. Audio with a new coding waits for the next
/// frame: that begins with a keyframe of its own or continues the frames before it.
///
/// A value without I/O.
struct HLSCodingChange {
    /// What happens to a packet.
    enum Verdict {
        /// It is kept back.
        case held
        /// It is written to the present run.
        case passed
        /// The next run begins with the coding of these packets, and they are written to it in order.
        case decided([EncodedPacket])
    }

    /// Maximum wait of a keyframe for audio, and of audio for a frame, in nanoseconds of media.
    private static let (longest, longestAudio): (Int64, Int64) = (3_000_000_000, 500_000_000)

    private var held: [EncodedPacket] = []

    /// Decides about the next packet. `streams` are the tracks of the present run.
    mutating func take(_ packet: EncodedPacket, behind streams: StreamDescription) -> Verdict {
        guard packet.track != .data else { return .passed }
        guard let first = held.first else {
            let begins = streams.video != nil && streams.audio != nil && packet.isKeyframe && !streams.holds(packet)
            if begins { held = [packet] }
            return begins ? .held : .passed
        }
        return first.track == .video ? follow(packet, keyframe: first, streams) : follow(packet, audio: first)
    }

    /// Decides about a packet that follows a keyframe with a new coding.
    private mutating func follow(
        _ packet: EncodedPacket, keyframe: EncodedPacket, _ streams: StreamDescription
    ) -> Verdict {
        let isAudio = packet.track == .audio
        let isOld = packet.description === streams.audio
        if isAudio, isOld, packet.ptsNanoseconds < keyframe.ptsNanoseconds { return .passed }
        held.append(packet)
        let isOver = packet.dtsNanoseconds - keyframe.dtsNanoseconds > Self.longest
        return isAudio || isOver ? .decided(takeAll()) : .held
    }

    /// Decides about a packet that follows audio with a new coding.
    private mutating func follow(_ packet: EncodedPacket, audio: EncodedPacket) -> Verdict {
        let isOver = packet.dtsNanoseconds - audio.dtsNanoseconds > Self.longestAudio
        held.append(packet)
        return packet.track == .video || isOver ? .decided(takeAll()) : .held
    }

    /// Returns the packets that were kept back, and forgets them.
    mutating func takeAll() -> [EncodedPacket] {
        defer { held = [] }
        return held
    }
}
