// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Forwards the packets of a stream that relay does not encode itself, in the sender's order and with the sender's
/// bytes. The next sink is a ``PacketStream`` with immediate delivery.
///
/// This sink makes decoding times increase within each track, because muxers and servers require increasing times. If a
/// packet's decoding time is not later than the previous one, it becomes one tick more than the previous one. The
/// presentation time is then raised to the decoding time if it is earlier. A packet without a duration gets the
/// shortest of the track's last three intervals as its duration. No packet is buffered, so no track waits for a track
/// that stopped.
///
/// Only one thread at a time may publish.
package final class PassthroughSink: PacketSink {
    private struct Track {
        var description: TrackDescription
        var dts: Int64
        /// The latest intervals between the track's packets, in ticks.
        var steps: RecentSteps
    }

    /// How many packets got a later decoding time.
    package struct Counts: Sendable, Codable, Equatable {
        /// The number of packets that got a later decoding time.
        package var moved = 0
    }

    private let next: any PacketSink
    private let state = Mutex<(tracks: [TrackKind: Track], counts: Counts)>(([:], Counts()))

    /// Creates a sink that forwards to `next`.
    package init(_ next: any PacketSink) { self.next = next }

    /// How many packets got a later decoding time so far. May be called on any thread.
    package var counts: Counts { state.withLock { $0.counts } }

    package func publish(_ packet: EncodedPacket) {
        next.publish(state.withLock { Self.order(packet, &$0.tracks[packet.track], &$0.counts) })
    }

    package func finish() { next.finish() }

    private static func order(_ packet: EncodedPacket, _ track: inout Track?, _ counts: inout Counts) -> EncodedPacket {
        // If the track's time base has changed, the earlier intervals are forgotten. Decoding times must still
        // increase.
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
