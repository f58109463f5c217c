// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Puts encoded packets into the order of their decoding times and forwards them. The packets of different tracks may
/// come at different times and from different threads.
///
/// This sink is placed between an encoder session and its ``PacketStream``. It is not used in passthrough, where
/// packets keep the sender's order. Any thread may publish, but all packets of one track must come from one thread.
package final class InterleavingSink: PacketSink {
    private let next: any PacketSink
    // The lock is held while packets are forwarded, so that two threads cannot change the order of the packets. This is
    // safe, because forwarding does not call back, and waits at most for an RTMP writer, whose work never blocks and
    // publishes nothing.
    private let interleaver: Mutex<Interleaver>

    /// Creates a sink that forwards to `next` and waits for packets of `tracks`. See ``Interleaver`` for `bound`.
    package init(
        _ next: any PacketSink, waitingFor tracks: Set<TrackKind> = [.video, .audio], bound: Duration = .seconds(10)
    ) {
        self.next = next
        interleaver = Mutex(Interleaver(waitingFor: tracks, bound: bound))
    }

    /// Sets for how much media time, `bound`, the packets of one track are held back while the other track is awaited.
    /// `bound` must be longer than the encoder's delay.
    package func wait(upTo bound: Duration) { interleaver.withLock { $0.bound = bound } }

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
