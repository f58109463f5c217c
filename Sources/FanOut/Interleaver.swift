// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media

/// Puts the packets of several tracks into one order, by decoding time. Outputs rely on this order.
///
/// A packet is released when every awaited track has reached the packet's time or has ended. If a track stops, the
/// other track waits for it only up to a bound of media time. Beyond this bound, the other track's packets are released
/// at once. The interleaver waits for the stopped track again when two of its packets come at most this bound apart.
/// Late packets of a stopped track are released at once, even if later packets of the other track have already been
/// released. If a video frame and an audio packet have the same time, the frame is released first. No track waits for
/// packets of timed data.
package struct Interleaver {
    private struct Track {
        var packets = Deque<EncodedPacket>()
        var isAwaited = false
        /// Whether the track was silent for so long that the other track no longer waits for it.
        var hasStopped = false
        /// The decoding time of the track's newest packet.
        var newest: ProgramInstant?

        /// Whether the other tracks must wait for this track's next packet.
        var isMissing: Bool { isAwaited && !hasStopped && packets.isEmpty }

        mutating func append(_ packet: EncodedPacket, bound: Duration) {
            let time = packet.programDts
            if let newest, time - newest <= bound { hasStopped = false }
            newest = time
            packets.append(packet)
        }

        /// The media time from the oldest held packet to the newest.
        var depth: Duration {
            guard let first = packets.first, let last = packets.last else { return .zero }
            return last.programDts - first.programDts
        }
    }

    /// The tracks. Packets with the same time are released in this order of tracks.
    private var (video, audio, data) = (Track(), Track(), Track())
    /// The latest decoding time of all released packets.
    private var latest = ProgramInstant.distantPast
    /// The maximum media time for which the packets of one track are held while another track is awaited.
    var bound: Duration

    /// Creates an interleaver that waits for packets of `tracks`. It stops waiting for a track when it holds more than
    /// `bound` of another track. `bound` must be longer than the usual delay between the tracks.
    package init(waitingFor tracks: Set<TrackKind> = [.video, .audio], bound: Duration = .seconds(10)) {
        self.bound = bound
        video.isAwaited = tracks.contains(.video)
        audio.isAwaited = tracks.contains(.audio)
    }

    /// Adds one packet. Returns the packets that can be released now, in order.
    package mutating func push(_ packet: EncodedPacket) -> [EncodedPacket] {
        switch packet.track {
        case .video: video.append(packet, bound: bound)
        case .audio: audio.append(packet, bound: bound)
        case .data: data.append(packet, bound: bound)
        }
        return release()
    }

    /// Records that `track` has ended. Returns the packets that can be released now, in order.
    package mutating func end(_ track: TrackKind) -> [EncodedPacket] {
        switch track {
        case .video: video.isAwaited = false
        case .audio: audio.isAwaited = false
        case .data: break
        }
        return release()
    }

    private mutating func release() -> [EncodedPacket] {
        var released: [EncodedPacket] = []
        while let packet = next() { released.append(packet) }
        return released
    }

    private mutating func next() -> EncodedPacket? {
        let heads = [video.packets.first, audio.packets.first, data.packets.first]
        guard let time = heads.compactMap(\.?.programDts).min() else { return nil }
        if time >= latest, video.isMissing || audio.isMissing {
            if max(video.depth, audio.depth) <= bound { return nil }
            if video.isMissing { video.hasStopped = true } else { audio.hasStopped = true }
        }
        latest = max(latest, time)
        if heads[0]?.programDts == time { return video.packets.popFirst() }
        if heads[1]?.programDts == time { return audio.packets.popFirst() }
        return data.packets.popFirst()
    }
}
