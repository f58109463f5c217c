// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Holds packets after a keyframe with a new coding until the coding of the audio is known too: one header describes
/// both tracks, and a new sender usually has other audio as well.
///
/// A value without I/O.
struct HLSCodingChange {
    /// What to do with a packet.
    enum Verdict {
        /// It is held back.
        case held
        /// Write it to the present run.
        case passed
        /// Write these in order, after starting the next run with audio like `audio`; nil means that the audio is
        /// unchanged.
        case decided([EncodedPacket], audio: TrackDescription?)
    }

    /// Maximum wait for audio, in nanoseconds of media.
    private static let longest: Int64 = 3_000_000_000

    private var held: [EncodedPacket] = []

    /// Decides about the next packet, which follows a run with the tracks of `streams`.
    mutating func take(_ packet: EncodedPacket, behind streams: StreamDescription) -> Verdict {
        guard let keyframe = held.first else {
            let begins =
                packet.track == .video && packet.isKeyframe && streams.video != nil && streams.audio != nil
                && packet.description !== streams.video
            if begins { held = [packet] }
            return begins ? .held : .passed
        }
        switch packet.track {
        case .audio:
            let isOld = packet.description === streams.audio
            if isOld, packet.ptsNanoseconds < keyframe.ptsNanoseconds { return .passed }
            held.append(packet)
            return .decided(takeAll(), audio: packet.description)
        case .video:
            held.append(packet)
            let isOver = packet.dtsNanoseconds - keyframe.dtsNanoseconds > Self.longest
            return isOver ? .decided(takeAll(), audio: nil) : .held
        case .data: return .passed
        }
    }

    /// Returns the held packets and forgets them.
    mutating func takeAll() -> [EncodedPacket] {
        defer { held = [] }
        return held
    }
}
