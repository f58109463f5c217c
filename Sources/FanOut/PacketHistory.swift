// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media

/// The newest packets of a stream, from a keyframe on, for consumers that join late: a player, a preview, a replay.
///
/// It always begins with a keyframe, and contains at least the current GOP if that is within the limits. Packets are
/// shared with the queues, so only packets that are in no queue any more need additional memory: at 6 Mbit/s and a GOP
/// of 2 s at most 1.5 MB.
package struct PacketHistory: Sendable {
    /// How much is kept.
    package struct Limits: Sendable, Equatable {
        /// Media time to keep before the current GOP; with zero, only the current GOP is kept.
        package var duration: Duration
        /// Maximum duration of a GOP that is kept.
        package var longestGOP: Duration
        /// Maximum payload bytes.
        package var maximumBytes: Int

        package init(duration: Duration = .zero, longestGOP: Duration = .seconds(20), maximumBytes: Int = 32 << 20) {
            (self.duration, self.longestGOP, self.maximumBytes) = (duration, longestGOP, maximumBytes)
        }

        /// The current GOP, up to 20 s and 32 MiB.
        package static let currentGOP = Limits()
    }

    /// The limits. Excess packets are removed when the next packet comes.
    package var limits: Limits
    private var kept = Deque<EncodedPacket>()
    /// The indices in `kept` at which GOPs begin, plus ``removed``.
    private var keyframes = Deque<Int>()
    /// Number of packets removed so far, which is added to indices so that they stay valid when packets are removed.
    private var removed = 0
    /// Payload bytes of all packets.
    package private(set) var bytes = 0

    package init(limits: Limits = .currentGOP) { self.limits = limits }

    /// The packets in the order of publishing. The first one is a keyframe.
    package var packets: [EncodedPacket] { Array(kept) }

    /// The current GOP, from its keyframe on; empty if it is not kept.
    package var currentGOP: [EncodedPacket] {
        guard let last = keyframes.last else { return [] }
        return Array(kept[(last - removed)...])
    }

    /// Media time from the newest keyframe to the newest packet, in nanoseconds.
    package var age: Int64 {
        guard let start = keyframes.last, let last = kept.last else { return 0 }
        return max(0, last.dtsNanoseconds - kept[start - removed].dtsNanoseconds)
    }

    /// Adds the next packet of the stream; `isKeyframe` means that a decoder of the whole stream can start there.
    package mutating func append(_ packet: EncodedPacket, isKeyframe: Bool) {
        guard isKeyframe || !keyframes.isEmpty else { return }
        if isKeyframe { keyframes.append(removed + kept.count) }
        kept.append(packet)
        bytes += packet.payload.count
        trim(to: packet.dtsNanoseconds)
    }

    /// Removes everything, because the next packet does not continue the kept packets.
    package mutating func removeAll() { self = PacketHistory(limits: limits) }

    private mutating func trim(to now: Int64) {
        let oldest = now - limits.duration.inNanoseconds
        while keyframes.count > 1, kept[keyframes[1] - removed].dtsNanoseconds <= oldest || bytes > limits.maximumBytes
        {
            removeFirstGOP()
        }
        if bytes > limits.maximumBytes || age > limits.longestGOP.inNanoseconds { removeAll() }
    }

    private mutating func removeFirstGOP() {
        keyframes.removeFirst()
        let end = keyframes.first ?? removed + kept.count
        for _ in removed..<end { bytes -= kept.removeFirst().payload.count }
        removed = end
    }
}
