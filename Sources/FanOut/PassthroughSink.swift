// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Forwards a stream that was encoded elsewhere, in the sender's order and with the sender's bytes, to a
/// ``PacketStream`` with immediate delivery.
///
/// Decoding times are made to increase within each track, because muxers and servers require it: a packet that is not
/// later than the previous one is moved to the next tick, and is not shown before it is decoded. A packet without a
/// duration gets the shortest of the last three intervals. No packet is buffered, so none waits for a track that
/// stopped.
///
/// One thread at a time publishes.
package final class PassthroughSink: PacketSink {
    private struct Track {
        var description: TrackDescription
        var dts: Int64
        /// The latest intervals between packets, in ticks.
        var steps: RecentSteps
    }

    /// Counts of changes so far.
    package struct Counts: Sendable, Codable, Equatable {
        /// Number of packets that were moved to a later decoding time.
        package var moved = 0
    }

    private let next: any PacketSink
    private let state = Mutex<(tracks: [TrackKind: Track], counts: Counts)>(([:], Counts()))

    /// A sink before `next`.
    package init(_ next: any PacketSink) { self.next = next }

    /// Counts of changes so far. May be called on any thread.
    package var counts: Counts { state.withLock { $0.counts } }

    package func publish(_ packet: EncodedPacket) {
        next.publish(state.withLock { Self.order(packet, &$0.tracks[packet.track], &$0.counts) })
    }

    package func finish() { next.finish() }

    private static func order(_ packet: EncodedPacket, _ track: inout Track?, _ counts: inout Counts) -> EncodedPacket {
        // If the time base has changed, the intervals are dropped, but times still increase.
        let before = track.map { $0.description.timeBase.rescale($0.dts, to: packet.timeBase, rounding: .down) }
        let dts = max(packet.dts, before.map { $0 + 1 } ?? packet.dts)
        let isSameClock = track?.description.timeBase == packet.timeBase
        var steps = isSameClock ? track?.steps ?? RecentSteps() : RecentSteps()
        if isSameClock, dts == packet.dts, let before { steps.append(dts - before) }
        let duration = packet.duration > 0 ? packet.duration : steps.shortest ?? 0
        track = Track(description: packet.description, dts: dts, steps: steps)
        guard dts != packet.dts || packet.pts < dts || duration != packet.duration else { return packet }
        if dts != packet.dts { counts.moved += 1 }
        return EncodedPacket(
            of: packet.description, pts: max(packet.pts, dts), dts: dts, duration: duration,
            isKeyframe: packet.isKeyframe, isDisposable: packet.isDisposable, payload: packet.payload)
    }
}
