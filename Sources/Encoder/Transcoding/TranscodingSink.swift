// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Synchronization

/// Sends one track of an input through a transcoder on a queue of its own, and forwards all other packets unchanged.
/// The forwarded packets do not wait for the transcoder, unless the source itself can wait.
///
/// Only one thread at a time may publish packets. The receiver of the output must interleave the tracks.
package final class TranscodingSink: PacketSink {
    /// The state of the transcoder, for an operator.
    package struct Status: Sendable {
        /// Number of errors of the transcoder: see ``TrackTranscoder/errors``.
        package var errors = 0
        /// Number of packets that were left out because the transcoder could not keep up, or because they followed such
        /// a packet and were not keyframes.
        package var skipped = 0
        /// The error that stopped the transcoder; nil if it has not failed.
        package var failure: String?
    }

    private struct State {
        var waiting = 0
        var awaitsKeyframe = false
        var isBlocked = false
        var status = Status()
    }

    /// The maximum number of packets that wait for a transcoder that is slower than its input. It is enough for some
    /// seconds.
    private static let longestQueue = 200

    /// The transcoder; after `init` it is used on `queue` only.
    private let transcoder: Mutex<any TrackTranscoder>
    private let kind: TrackKind
    private let (copied, coded): (any PacketSink, any PacketSink)
    private let canWait: Bool
    private let queue: DispatchQueue
    /// The heartbeat of the transcoder's queue. It is suspended between packets.
    package let heartbeat = Heartbeat("transcoder")
    private let publisher: Heartbeat?
    private let state = Mutex(State())
    private let spaceAvailable = DispatchSemaphore(value: 0)

    /// Sends packets of `kind` to `transcoder`, whose output goes to `coded`, and all other packets to `copied`. If the
    /// source `canWait`, the publishing thread is blocked while too many packets wait for the transcoder; `publisher`,
    /// the heartbeat of that thread, is suspended in the meantime. `name` is the channel's name.
    package init(
        _ kind: TrackKind, by transcoder: sending any TrackTranscoder, copied: any PacketSink, coded: any PacketSink,
        canWait: Bool, publisher: Heartbeat? = nil, name: String
    ) {
        self.transcoder = Mutex(transcoder)
        (self.kind, self.copied, self.coded) = (kind, copied, coded)
        (self.canWait, self.publisher) = (canWait, publisher)
        queue = DispatchQueue(label: "relay.transcode.\(name)")
    }

    /// A snapshot of the status. Any thread can read it.
    package var status: Status { state.withLock { $0.status } }

    package func publish(_ packet: EncodedPacket) {
        guard packet.track == kind else { return copied.publish(packet) }
        guard admit(packet) else { return }
        queue.async { [self] in
            work { try $0.take(packet) }
            let wakes = state.withLock { state in
                state.waiting -= 1
                defer { if state.waiting < Self.longestQueue / 2 { state.isBlocked = false } }
                return state.isBlocked && state.waiting < Self.longestQueue / 2
            }
            if wakes { spaceAvailable.signal() }
        }
    }

    /// Waits until the transcoder has output all packets, then reports the end to the sink of the copied track. Blocks.
    package func finish() {
        // At its end an encoder outputs all frames that it holds, in one call that can take long. The heartbeat is
        // suspended during this call, so that the call does not count as a hang.
        queue.sync { work { transcoder in try heartbeat.resting { try transcoder.finish() } } }
        copied.finish()
    }

    /// Returns whether the packet will be transcoded. If too many packets are waiting, blocks a source that can wait.
    /// For any other source, skips this packet and the following ones up to the next keyframe that finds space.
    private func admit(_ packet: EncodedPacket) -> Bool {
        while true {
            let isAdmitted: Bool? = state.withLock { state in
                if state.waiting >= Self.longestQueue {
                    state.isBlocked = canWait
                    if canWait { return nil }
                    state.awaitsKeyframe = true
                }
                if state.awaitsKeyframe, !packet.isKeyframe || state.waiting >= Self.longestQueue {
                    state.status.skipped += 1
                    return false
                }
                state.awaitsKeyframe = false
                state.waiting += 1
                return true
            }
            if let isAdmitted { return isAdmitted }
            publisher?.rest()
            spaceAvailable.wait()
            publisher?.beat()
        }
    }

    private func work(_ body: (any TrackTranscoder) throws -> [EncodedPacket]) {
        guard state.withLock({ $0.status.failure == nil }) else { return }
        heartbeat.beat()
        defer { heartbeat.rest() }
        do {
            for packet in try transcoder.withLock({ try body($0) }) { coded.publish(packet) }
        } catch {
            state.withLock { $0.status.failure = "\(error)" }
        }
        let errors = transcoder.withLock { $0.errors }
        state.withLock { $0.status.errors = errors }
    }
}

/// Decodes one track and encodes it again, packet by packet, with the sender's times. Only one thread at a time may use
/// it.
package protocol TrackTranscoder: AnyObject {
    /// The coding of the output packets.
    var description: TrackDescription { get }
    /// The number of packets that could not be decoded without an error, plus the number of frames that the encoder
    /// refused.
    var errors: Int { get }
    /// Transcodes the next packet, in decoding order, and returns the packets that are ready. A packet that cannot be
    /// decoded is counted and left out. If the call throws, the program ends.
    func take(_ packet: EncodedPacket) throws -> [EncodedPacket]
    /// Returns the remaining packets. No more packets may be passed to the transcoder afterwards.
    func finish() throws -> [EncodedPacket]
}
