// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media

/// The newest packets of a stream, from a keyframe on, for consumers that join it late: a player, a preview, a replay.
///
/// It always begins with a keyframe, and holds at least the GOP under way as long as that is within the bounds. Packets are
/// shared, so what they cost is what no queue holds any more: at 6 Mbit/s and a GOP of 2 s at most 1.5 MB.
package struct PacketHistory: Sendable {
    /// How much is kept.
    package struct Limits: Sendable, Equatable {
        /// Media time that is kept beyond the GOP under way; zero keeps that GOP only.
        package var duration: Duration
        /// The longest GOP that is kept.
        package var longestGOP: Duration
        /// Bytes of payload that are never exceeded.
        package var maximumBytes: Int

        /// Limits of these values.
        package init(
            duration: Duration = .zero, longestGOP: Duration = .seconds(20), maximumBytes: Int = 32 << 20
        ) {
            (self.duration, self.longestGOP, self.maximumBytes) = (duration, longestGOP, maximumBytes)
        }

        /// The GOP under way, up to 20 s and 32 MiB.
        package static let currentGOP = Limits()
    }

    /// How much is kept. What is more than that goes when the next packet comes.
    package var limits: Limits
    private var kept = Deque<EncodedPacket>()
    /// Where in `kept` the GOPs begin.
    private var keyframes = Deque<Int>()
    /// How many packets were removed so far: `keyframes` counts from the first ever kept.
    private var removed = 0
    /// Bytes of payload that are held.
    package private(set) var bytes = 0

    /// An empty history.
    package init(limits: Limits = .currentGOP) { self.limits = limits }

    /// What is held, in the order in which it was published; empty, or from a keyframe on.
    package var packets: [EncodedPacket] { Array(kept) }

    /// The GOP under way, from its keyframe on; empty if it is not held.
    package var currentGOP: [EncodedPacket] {
        guard let last = keyframes.last else { return [] }
        return Array(kept[(last - removed)...])
    }

    /// Media time from the newest keyframe to the newest packet, in nanoseconds.
    package var age: Int64 {
        guard let start = keyframes.last, let last = kept.last else { return 0 }
        return max(0, last.dtsNanoseconds - kept[start - removed].dtsNanoseconds)
    }

    /// Takes the next packet of the stream; `isKeyframe` says that a decoder of the whole stream can begin with it.
    package mutating func append(_ packet: EncodedPacket, isKeyframe: Bool) {
        guard isKeyframe || !keyframes.isEmpty else { return }
        if isKeyframe { keyframes.append(removed + kept.count) }
        kept.append(packet)
        bytes += packet.payload.count
        trim(to: packet.dtsNanoseconds)
    }

    /// Forgets everything: the next packet does not continue what is kept.
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
