// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Holds what follows a keyframe that is coded in another way, until it is known how the audio beside it is coded: a header
/// says it of both at once, and mostly another sender's audio is another, too.
///
/// A value without I/O.
struct HLSCodingChange {
    /// What becomes of a packet.
    enum Verdict {
        /// It is held.
        case held
        /// It is to be written to what is open.
        case passed
        /// These are to be written, in order, once the next run has audio like `audio`; like before for nil.
        case decided([EncodedPacket], audio: TrackDescription?)
    }

    /// Audio that is this late, in nanoseconds of media, is not waited for.
    private static let longest: Int64 = 3_000_000_000

    private var held: [EncodedPacket] = []

    /// Takes the next packet behind a run of the tracks of `streams`.
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

    /// What is held. Nothing is afterwards.
    mutating func takeAll() -> [EncodedPacket] {
        defer { held = [] }
        return held
    }
}
