// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media

/// Interleaves the packets of several tracks by decoding time, so that outputs can rely on the order.
///
/// A packet is released when every awaited track has reached the packet's time or has ended. If a track stops, the
/// other track waits for it only for a limited media time. After that, it is neither delayed nor buffered, until the
/// stopped track again delivers packets at intervals within that limit. Packets of the stopped track that are late are
/// released at once, even if packets of the other track with later times were released before. If a frame and an audio
/// packet have the same time, the frame goes first. Timed data is not awaited.
package struct Interleaver {
    private struct Track {
        var packets = Deque<EncodedPacket>()
        var isAwaited = false
        /// Whether the track seems to have stopped.
        var hasStopped = false
        /// Decoding time of the track's newest packet, in nanoseconds.
        var newest: Int64?

        /// Whether no packet of any track can be released before this track's next packet.
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

    /// The tracks, in the release order of packets with the same time.
    private var (video, audio, data) = (Track(), Track(), Track())
    /// Latest released decoding time, in nanoseconds.
    private var latest = Int64.min
    /// Maximum media time that one track may hold while another is awaited, in nanoseconds.
    var bound: Int64

    /// Waits for `tracks` as long as no other track holds more than `bound`, which must exceed the usual distance
    /// between the tracks.
    package init(waitingFor tracks: Set<TrackKind> = [.video, .audio], bound: Duration = .seconds(10)) {
        self.bound = bound.inNanoseconds
        video.isAwaited = tracks.contains(.video)
        audio.isAwaited = tracks.contains(.audio)
    }

    /// Adds one packet and returns the packets to release, in order.
    package mutating func push(_ packet: EncodedPacket) -> [EncodedPacket] {
        switch packet.track {
        case .video: video.append(packet, bound: bound)
        case .audio: audio.append(packet, bound: bound)
        case .data: data.append(packet, bound: bound)
        }
        return release()
    }

    /// Ends `track` and returns the packets that can now be released.
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
