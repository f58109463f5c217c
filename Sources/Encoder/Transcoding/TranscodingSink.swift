// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Synchronization

/// Sends one track of an input through a transcoder on a queue of its own, and forwards all other packets unchanged.
/// The forwarded packets do not wait for the transcoder, unless the source itself can wait: then no packet is published
/// more than half a second ahead of the transcoder.
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
        /// Decoding time up to which the transcoder has worked, while packets are waiting.
        var reached = ProgramInstant.distantPast
        var awaitsKeyframe = false
        /// Decoding time of the packet that the publishing thread holds back; nil if the thread is not blocked.
        var held: ProgramInstant?
        var status = Status()

        /// Whether a packet of this decoding time must wait because it is more than `lead` ahead of the transcoder.
        func isAhead(_ time: ProgramInstant, by lead: Duration) -> Bool { waiting > 0 && time - reached > lead }
    }

    /// The maximum number of packets that wait for a transcoder that is slower than its input. It is enough for some
    /// seconds.
    private static let longestQueue = 200
    /// How far a source that can wait is read ahead of the transcoder, in media time. The receiver's interleaver waits
    /// for the transcoded track for longer than this and the encoder's delay together.
    private static let longestLead = Duration.milliseconds(500)

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
    /// source `canWait`, the publishing thread is blocked while its packet is too far ahead of the transcoder;
    /// `publisher`, the heartbeat of that thread, is suspended in the meantime. `name` is the channel's name.
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
        if canWait { holdBack(packet) }
        guard packet.track == kind else { return copied.publish(packet) }
        guard admit(packet) else { return }
        queue.async { [self] in
            work { try $0.take(packet) }
            let wakes = state.withLock { state in
                state.waiting -= 1
                state.reached = packet.programDts
                guard let held = state.held, state.waiting < Self.longestQueue / 2,
                    !state.isAhead(held, by: Self.longestLead / 2)
                else { return false }
                state.held = nil
                return true
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

    /// Blocks while the packet is too far ahead of the transcoder, or too many packets wait for it. Without this, an
    /// input that is read as fast as possible would run so far ahead that the receiver's interleaver takes the
    /// transcoded track for one that has stopped.
    private func holdBack(_ packet: EncodedPacket) {
        while true {
            let isHeld = state.withLock { state in
                let isHeld =
                    state.waiting >= Self.longestQueue || state.isAhead(packet.programDts, by: Self.longestLead)
                if isHeld { state.held = packet.programDts }
                return isHeld
            }
            guard isHeld else { return }
            publisher?.rest()
            spaceAvailable.wait()
            publisher?.beat()
        }
    }

    /// Returns whether the packet will be transcoded. If too many packets are waiting, skips this packet and the
    /// following ones up to the next keyframe that finds space. A source that can wait never has that many waiting.
    private func admit(_ packet: EncodedPacket) -> Bool {
        state.withLock { state in
            let isFull = state.waiting >= Self.longestQueue
            if isFull { state.awaitsKeyframe = true }
            if state.awaitsKeyframe, isFull || !packet.isKeyframe {
                state.status.skipped += 1
                return false
            }
            state.awaitsKeyframe = false
            if state.waiting == 0 { state.reached = packet.programDts }
            state.waiting += 1
            return true
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
