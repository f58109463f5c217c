// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media

/// Puts the packets of several tracks into one order by decoding time, so that every output can rely on it.
///
/// A packet is released when each awaited track has come as far, or has ended. A track that has stopped is waited for
/// up to a bound in media time, and then not at all until it comes again, with packets no further apart than that: the
/// other track is neither delayed nor kept in memory for it. What it brings later is released at once, behind what was
/// not held for it. If a frame and an audio packet have the same time, the frame goes first. Timed data is not awaited.
package struct Interleaver {
    private struct Track {
        var packets = Deque<EncodedPacket>()
        var isAwaited = false
        /// Whether the track has stopped, as far as that is known.
        var hasStopped = false
        /// The decoding time of its newest packet, in nanoseconds.
        var newest: Int64?

        /// Whether nothing can go out before the track's next packet.
        var isMissing: Bool { isAwaited && !hasStopped && packets.isEmpty }

        mutating func append(_ packet: EncodedPacket, bound: Int64) {
            let time = packet.dtsNanoseconds
            if let newest, time - newest <= bound { hasStopped = false }
            newest = time
            packets.append(packet)
        }

        /// Media time from the oldest held packet to the newest, in nanoseconds.
        var depth: Int64 {
            guard let first = packets.first, let last = packets.last else { return 0 }
            return last.dtsNanoseconds - first.dtsNanoseconds
        }
    }

    /// The tracks, in the order in which packets of the same time go out.
    private var (video, audio, data) = (Track(), Track(), Track())
    /// The latest decoding time that went out, in nanoseconds.
    private var latest = Int64.min
    /// The most media time that one track may hold while another is awaited, in nanoseconds.
    var bound: Int64

    /// An interleaver that waits for `tracks`, while no other track holds more than `bound`. The bound must be longer than
    /// one track is behind the other in ordinary operation.
    package init(waitingFor tracks: Set<TrackKind> = [.video, .audio], bound: Duration = .seconds(10)) {
        self.bound = bound.inNanoseconds
        video.isAwaited = tracks.contains(.video)
        audio.isAwaited = tracks.contains(.audio)
    }

    /// Takes one packet in and returns what can go out, in order.
    package mutating func push(_ packet: EncodedPacket) -> [EncodedPacket] {
        switch packet.track {
        case .video: video.append(packet, bound: bound)
        case .audio: audio.append(packet, bound: bound)
        case .data: data.append(packet, bound: bound)
        }
        return release()
    }

    /// Says that `track` is over and returns what can go out because of it.
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
        guard let time = heads.compactMap(\.?.dtsNanoseconds).min() else { return nil }
        if time >= latest, video.isMissing || audio.isMissing {
            if max(video.depth, audio.depth) <= bound { return nil }
            if video.isMissing { video.hasStopped = true } else { audio.hasStopped = true }
        }
        latest = max(latest, time)
        if heads[0]?.dtsNanoseconds == time { return video.packets.popFirst() }
        if heads[1]?.dtsNanoseconds == time { return audio.packets.popFirst() }
        return data.packets.popFirst()
    }
}
