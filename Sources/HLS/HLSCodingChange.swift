// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Keeps packets back from a keyframe with a new coding on, until the coding of the audio is known too. This is
/// necessary because one header describes both tracks, and a new sender usually has other audio as well.
///
/// A value without I/O.
struct HLSCodingChange {
    /// What happens to a packet.
    enum Verdict {
        /// It is kept back.
        case held
        /// It is written to the present run.
        case passed
        /// The next run begins, with audio like `audio` (nil means that the audio has not changed), and these packets
        /// are written to it in order.
        case decided([EncodedPacket], audio: TrackDescription?)
    }

    /// Maximum wait for audio, in nanoseconds of media.
    private static let longest: Int64 = 3_000_000_000

    private var held: [EncodedPacket] = []

    /// Decides about the next packet. `streams` are the tracks of the present run.
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

    /// Returns the packets that were kept back, and forgets them.
    mutating func takeAll() -> [EncodedPacket] {
        defer { held = [] }
        return held
    }
}
