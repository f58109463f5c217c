// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media
internal import Synchronization

/// How full a queue is and what it refused, at one moment.
package struct QueueStatus: Sendable, Codable, Equatable {
    /// Packets waiting.
    package var packets = 0
    /// Payload bytes waiting.
    package var bytes = 0
    /// Media time waiting, in milliseconds.
    package var milliseconds: Int64 = 0
    /// The media time at which the queue is emptied; 0 where it is not known.
    package var boundMilliseconds: Int64 = 0
    /// Packets that did not reach the output, by cause.
    package var drops: [DropCause: Int] = [:]
    /// Frames among them.
    package var droppedFrames = 0

    /// ``drops`` and ``droppedFrames`` as one value.
    package var dropCounts: DropCounts {
        get {
            var counts = DropCounts()
            (counts.causes, counts.frames) = (drops, droppedFrames)
            return counts
        }
        set { (drops, droppedFrames) = (newValue.causes, newValue.frames) }
    }
}

/// The bounded queue between the fan-out and one live output.
///
/// `push` is called by the publishing thread and never blocks; the output's own thread pops. What is refused is
/// counted by cause. Packets are shared, never copied.
package final class PacketQueue: Sendable {
    fileprivate struct State {
        var packets = Deque<EncodedPacket>()
        var bytes = 0
        var policy: DropPolicy
        var drops = DropCounts()
        /// Whether the output has not joined the program yet, and so misses nothing.
        var isJoining: Bool
        var pace = ArrivalPace()
        /// How far the newest packet is ahead of that pace, in nanoseconds.
        var ahead: Int64 = 0
    }

    /// The result of a push.
    package enum Outcome: Sendable, Equatable {
        /// It is in the queue.
        case queued
        /// It was refused.
        case dropped(DropCause)
    }

    /// The bounds.
    package let limits: QueueLimits
    /// Tells when packets come that may come in bursts.
    private let clock: any MonotonicClock
    private let state: Mutex<State>

    /// An empty queue with these bounds. `isFromStart` says that what comes first is the program's first frame, which
    /// is worth keeping for a target that is not connected yet. `awaitsCallers` says that packets do not count as
    /// missed until a receiver calls. The program can be joined at keyframes of `leading`.
    package init(
        limits: QueueLimits, isFromStart: Bool = true, awaitsCallers: Bool = false, leading: TrackKind = .video,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.limits, self.clock) = (limits, clock)
        let policy = DropPolicy(limits: limits, mode: isFromStart ? .holdingStart : .holding, leading: leading)
        state = Mutex(State(policy: policy, isJoining: !isFromStart || awaitsCallers))
    }

    /// Appends `packet` if the policy takes it.
    @discardableResult
    package func push(_ packet: EncodedPacket) -> Outcome {
        let now = limits.takesBursts ? clock.now : nil
        return state.withLock { state in
            if let now { state.ahead = state.pace.note(packet.dtsNanoseconds, at: now) }
            return state.push(packet)
        }
    }

    /// Takes the first packets of an output that joins on air, see ``PacketStream/join(_:)``. The GOP under way is queued
    /// whatever its length: the bounds are wider by it until the output has caught up. The queue must be empty.
    package func join(with packets: [EncodedPacket]) {
        state.withLock { state in
            guard let first = packets.first, state.policy.canBegin(first) else {
                for packet in packets { _ = state.push(packet) }
                return
            }
            for packet in packets {
                state.packets.append(packet)
                state.bytes += packet.payload.count
            }
            state.policy.joined(depth: state.duration(with: nil), bytes: state.bytes)
            state.isJoining = false
        }
    }

    /// Takes the oldest packet.
    package func pop() -> EncodedPacket? {
        state.withLock { state in state.pop() }
    }

    /// Takes the oldest packets into `batch` until they hold `bytes` of payload, the last one included. Returns whether
    /// that was all that waited.
    package func pop(upTo bytes: Int, into batch: inout [EncodedPacket]) -> Bool {
        state.withLock { state in
            var taken = 0
            while taken < bytes, let packet = state.pop() {
                taken += packet.payload.count
                batch.append(packet)
            }
            return state.packets.isEmpty
        }
    }

    /// Whether anything waits.
    package var isEmpty: Bool { state.withLock { $0.packets.isEmpty } }

    /// The output came on air: from now on the live thresholds hold, once the backlog has gone out.
    /// Returns whether what is queued, or comes next, is something a decoder can start from.
    package func connected() -> Bool {
        state.withLock { state in
            let isFromStart = state.policy.mode == .holdingStart
            let hasKeyframe = state.packets.contains(where: state.policy.canBegin)
            state.policy.connected()
            if hasKeyframe { state.isJoining = false }
            return isFromStart || hasKeyframe
        }
    }

    /// The output lost its connection: what is queued is cut to its newest keyframe.
    package func disconnected() {
        state.withLock { state in
            state.policy.disconnected()
            state.flush(incoming: nil, cause: .notConnected)
        }
    }

    /// The target takes nothing, or lost what it had got, and can continue at a keyframe only: what is queued is cut to its
    /// newest keyframe, and until ``connected()`` only what follows the newest one is kept.
    package func hold() {
        state.withLock { state in
            state.policy.disconnected()
            state.flush(incoming: nil, cause: .overflow)
        }
    }

    /// The output has joined the program: what it does not get from now on is missing.
    func joined() { state.withLock { $0.isJoining = false } }

    /// Forgets what is queued, and counts it as dropped, because it will not be sent.
    package func discard() { state.withLock { $0.discard() } }

    /// Whether the output has room again but must wait for a keyframe: the moment to ask for one.
    package var needsKeyframe: Bool {
        state.withLock { state in state.policy.needsKeyframe(depth: state.depth(with: nil)) }
    }

    /// What was refused or removed so far.
    package var drops: DropCounts { state.withLock { $0.drops } }

    /// A snapshot for status and metrics.
    package var status: QueueStatus {
        state.withLock { state in
            QueueStatus(
                packets: state.packets.count, bytes: state.bytes, milliseconds: state.duration(with: nil) / 1_000_000,
                drops: state.drops.causes, droppedFrames: state.drops.frames)
        }
    }
}

extension PacketQueue.State {
    /// Media time from the oldest queued packet to the newest, `packet` included, in nanoseconds.
    fileprivate func duration(with packet: EncodedPacket?) -> Int64 {
        guard let first = packets.first, let last = packet ?? packets.last else { return 0 }
        return max(0, last.dtsNanoseconds - first.dtsNanoseconds)
    }

    /// What of that the output is behind, in nanoseconds: the newest packet may have come ahead of its time.
    fileprivate func depth(with packet: EncodedPacket?) -> Int64 { max(0, duration(with: packet) - ahead) }

    fileprivate mutating func push(_ packet: EncodedPacket) -> PacketQueue.Outcome {
        while true {
            switch policy.decide(packet, depth: depth(with: packet), bytes: bytes) {
            case .accept:
                packets.append(packet)
                bytes += packet.payload.count
                if packet.track == policy.leading, !policy.mode.isHolding { isJoining = false }
                return .queued
            case .refuse(let cause):
                count(packet, as: cause)
                return .dropped(cause)
            case .flush:
                flush(incoming: packet, cause: policy.mode.isHolding ? .notConnected : .overflow)
            }
        }
    }

    fileprivate mutating func pop() -> EncodedPacket? {
        guard let packet = packets.popFirst() else { return nil }
        bytes -= packet.payload.count
        return packet
    }

    fileprivate mutating func discard() {
        while let packet = pop() { count(packet, as: .notConnected) }
        policy.flushed(keyframeRemains: false)
    }

    /// Removes what precedes the newest keyframe; everything, if that keyframe is at the head already, if there is
    /// none, or if the packet about to be queued is itself one.
    fileprivate mutating func flush(incoming: EncodedPacket?, cause: DropCause) {
        let isIncomingKeyframe = incoming.map(policy.canBegin) ?? false
        // At a loss of connection a keyframe whose followers were refused is worth nothing: a stale frame, then a hole.
        let isUseless = incoming == nil && policy.awaitsKeyframe
        let newest = isUseless ? nil : packets.lastIndex(where: policy.canBegin)
        let keepsFrom: Int
        if isIncomingKeyframe {
            keepsFrom = packets.count
        } else if let newest, newest > 0 || incoming == nil {
            keepsFrom = newest
        } else {
            keepsFrom = packets.count
        }
        for _ in 0..<keepsFrom {
            if let packet = pop() { count(packet, as: cause) }
        }
        policy.flushed(keyframeRemains: !packets.isEmpty || isIncomingKeyframe)
    }

    private mutating func count(_ packet: EncodedPacket, as cause: DropCause) {
        guard !isJoining else { return }
        drops.count(cause, isFrame: packet.track == .video)
    }
}
