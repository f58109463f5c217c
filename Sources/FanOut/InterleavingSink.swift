// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Interleaves encoded packets by decoding time, and forwards them. The packets of the tracks may arrive independently
/// of each other.
///
/// It is placed between an encoder session and its ``PacketStream``. Tracks that are passed through do not use it: they
/// keep their sender's order. Any thread may publish; packets of one track must come from one thread.
package final class InterleavingSink: PacketSink {
    private let next: any PacketSink
    // Locked while packets are forwarded, so that two threads cannot change their order. Forwarding neither blocks nor
    // calls back.
    private let interleaver: Mutex<Interleaver>

    /// A sink before `next` that waits for `tracks`; see ``Interleaver`` for `bound`.
    package init(
        _ next: any PacketSink, waitingFor tracks: Set<TrackKind> = [.video, .audio], bound: Duration = .seconds(10)
    ) {
        self.next = next
        interleaver = Mutex(Interleaver(waitingFor: tracks, bound: bound))
    }

    /// Sets how far one track may be ahead of the other before it stops waiting: more than the encoder's delay.
    package func wait(upTo bound: Duration) { interleaver.withLock { $0.bound = bound.inNanoseconds } }

    package func publish(_ packet: EncodedPacket) {
        interleaver.withLock { interleaver in
            for packet in interleaver.push(packet) { next.publish(packet) }
        }
    }

    package func finish() {
        interleaver.withLock { interleaver in
            for packet in interleaver.end(.audio) + interleaver.end(.video) { next.publish(packet) }
        }
        next.finish()
    }
}
