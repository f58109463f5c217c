// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media

/// Keeps the newest packets of a stream, from a keyframe on, for consumers that join later, such as a player, a preview
/// or a replay.
///
/// The history always begins with a keyframe. It contains at least the current GOP if the current GOP is within the
/// limits. Packets are shared with the outputs' queues, so only packets that have left all queues need additional
/// memory: at most 1.5 MB at 6 Mbit/s and a GOP of 2 s.
package struct PacketHistory: Sendable {
    /// How many packets the history keeps.
    package struct Limits: Sendable, Equatable {
        /// How much media time to keep. With zero, only the current GOP is kept. Only whole GOPs are removed.
        package var duration: Duration
        /// If the current GOP becomes longer than this, the history is emptied until the next keyframe.
        package var longestGOP: Duration
        /// The maximum sum of all payloads, in bytes.
        package var maximumBytes: Int

        package init(duration: Duration = .zero, longestGOP: Duration = .seconds(20), maximumBytes: Int = 32 << 20) {
            (self.duration, self.longestGOP, self.maximumBytes) = (duration, longestGOP, maximumBytes)
        }

        /// Keeps only the current GOP, up to 20 s and 32 MiB.
        package static let currentGOP = Limits()
    }

    /// The limits. After a change, excess packets are removed only when the next packet comes.
    package var limits: Limits
    private var kept = Deque<EncodedPacket>()
    /// Where GOPs begin: each value is an index in `kept` plus ``removed``.
    private var keyframes = Deque<Int>()
    /// The number of packets removed so far. It is added to the indices in ``keyframes``, so that these values stay
    /// valid when packets are removed.
    private var removed = 0
    /// The sum of the payloads of all kept packets, in bytes.
    package private(set) var bytes = 0

    package init(limits: Limits = .currentGOP) { self.limits = limits }

    /// All kept packets, in the order of publishing. The first one is a keyframe.
    package var packets: [EncodedPacket] { Array(kept) }

    /// The packets of the current GOP, from its keyframe on; empty if the history does not keep it.
    package var currentGOP: [EncodedPacket] {
        guard let last = keyframes.last else { return [] }
        return Array(kept[(last - removed)...])
    }

    /// The media time from the newest keyframe to the newest packet, in nanoseconds.
    package var age: Int64 {
        guard let start = keyframes.last, let last = kept.last else { return 0 }
        return max(0, last.dtsNanoseconds - kept[start - removed].dtsNanoseconds)
    }

    /// Adds the next packet of the stream. `isKeyframe` means that a decoder of the whole stream can start at this
    /// packet.
    package mutating func append(_ packet: EncodedPacket, isKeyframe: Bool) {
        guard isKeyframe || !keyframes.isEmpty else { return }
        if isKeyframe { keyframes.append(removed + kept.count) }
        kept.append(packet)
        bytes += packet.payload.count
        trim(to: packet.programDts)
    }

    /// Removes all packets, because the next packet does not continue the kept ones.
    package mutating func removeAll() { self = PacketHistory(limits: limits) }

    private mutating func trim(to now: ProgramInstant) {
        let oldest = now - limits.duration
        while keyframes.count > 1, kept[keyframes[1] - removed].programDts <= oldest || bytes > limits.maximumBytes {
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
