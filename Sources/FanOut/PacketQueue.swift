// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media
internal import Synchronization

/// The fill level of a queue at one moment, and its drops until then.
package struct QueueStatus: Sendable, Codable, Equatable {
    /// The number of queued packets.
    package var packets = 0
    /// The sum of the queued payloads, in bytes.
    package var bytes = 0
    /// The queued media time, in milliseconds.
    package var milliseconds: Int64 = 0
    /// The queued media time at which the queue is emptied, in milliseconds; 0 if unknown.
    package var boundMilliseconds: Int64 = 0
    /// The number of packets that did not reach the output, by cause.
    package var drops: [DropCause: Int] = [:]
    /// The number of video frames among the dropped packets.
    package var droppedFrames = 0

    /// The dropped packets and frames (``drops`` and ``droppedFrames``) as one value.
    package var dropCounts: DropCounts {
        get {
            var counts = DropCounts()
            (counts.causes, counts.frames) = (drops, droppedFrames)
            return counts
        }
        set { (drops, droppedFrames) = (newValue.causes, newValue.frames) }
    }
}

/// The bounded queue of packets between the fan-out and one live output.
///
/// The publishing thread calls `push`, which never waits for the output. The output's own thread calls `pop`. Refused
/// and removed packets are counted by cause. Packets are shared and never copied.
///
/// ```swift
/// let queue = PacketQueue(limits: .live)
/// queue.push(packet)
/// while let next = queue.pop() { send(next.payload) }
/// ```
package final class PacketQueue: Sendable {
    fileprivate struct State {
        var packets = Deque<EncodedPacket>()
        var bytes = 0
        var policy: DropPolicy
        var drops = DropCounts()
        /// Whether the output has not joined the program yet. While this is true, packets that the output does not get
        /// are not counted as dropped.
        var isJoining: Bool
        /// Whether the output has called `pop` or gone on air since the queue was last full.
        var isRead = true
        var pace = ArrivalPace()
        /// How far the newest packet was ahead of time when it arrived, in nanoseconds; see ``ArrivalPace``.
        var ahead: Int64 = 0
    }

    /// What happened to a packet that was pushed.
    package enum Outcome: Sendable, Equatable {
        /// The packet was appended to the queue.
        case queued
        /// The packet was refused, for the reason in the associated value.
        case dropped(DropCause)
    }

    /// The limits of this queue.
    package let limits: QueueLimits
    /// The clock by which the arrival of packets is measured, if packets may come in bursts.
    private let clock: any MonotonicClock
    private let state: Mutex<State>

    /// Creates an empty queue with these limits. `isFromStart` means that the queue gets the program's packets from the
    /// first one on, and keeps them while the output is not connected yet. `awaitsCallers` means that packets do not
    /// count as dropped until a receiver connects. Decoders can start at keyframes of `leading`.
    package init(
        limits: QueueLimits, isFromStart: Bool = true, awaitsCallers: Bool = false, leading: TrackKind = .video,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.limits, self.clock) = (limits, clock)
        let policy = DropPolicy(limits: limits, mode: isFromStart ? .holdingStart : .holding, leading: leading)
        state = Mutex(State(policy: policy, isJoining: !isFromStart || awaitsCallers))
    }

    /// Appends `packet` if the drop policy accepts it. Returns whether the packet was accepted.
    @discardableResult
    package func push(_ packet: EncodedPacket) -> Outcome {
        let now = limits.takesBursts ? clock.now : nil
        return state.withLock { state in
            if let now { state.ahead = state.pace.note(packet.programDts, at: now) }
            return state.push(packet)
        }
    }

    /// Queues the first packets of an output that joins a running program, see ``PacketStream/join(_:)``. These packets
    /// are the current GOP, however long it is: until the output has caught up, the queue's limits are extended by the
    /// size of this GOP. The queue must be empty.
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

    /// Removes the oldest packet and returns it; nil if the queue is empty.
    package func pop() -> EncodedPacket? {
        state.withLock { state in
            state.isRead = true
            return state.pop()
        }
    }

    /// Moves the oldest packets to the end of `batch` until the moved payloads have `bytes` or more, or until the queue
    /// is empty. Returns whether the queue is empty now.
    package func pop(upTo bytes: Int, into batch: inout [EncodedPacket]) -> Bool {
        state.withLock { state in
            state.isRead = true
            var taken = 0
            while taken < bytes, let packet = state.pop() {
                taken += packet.payload.count
                batch.append(packet)
            }
            return state.packets.isEmpty
        }
    }

    /// Whether the queue is empty.
    package var isEmpty: Bool { state.withLock { $0.packets.isEmpty } }

    /// Records that the output went on air. The live thresholds apply as soon as the backlog has been sent. Returns
    /// whether a decoder can start with the packets in the queue, or with the next packet.
    package func connected() -> Bool {
        state.withLock { state in
            let isFromStart = state.policy.mode == .holdingStart
            let hasKeyframe = state.packets.contains(where: state.policy.canBegin)
            state.policy.connected()
            state.isRead = true
            if hasKeyframe { state.isJoining = false }
            return isFromStart || hasKeyframe
        }
    }

    /// Records that the output lost its connection. All packets before the newest queued keyframe are removed.
    package func disconnected() {
        state.withLock { state in
            state.policy.disconnected()
            state.flush(incoming: nil, cause: .notConnected)
        }
    }

    /// Holds packets back, because the target accepts nothing, or lost data and can continue only at a keyframe. All
    /// packets before the newest queued keyframe are removed. Until ``connected()`` the queue keeps only the packets
    /// from the newest keyframe on.
    package func hold() {
        state.withLock { state in
            state.policy.disconnected()
            state.flush(incoming: nil, cause: .overflow)
        }
    }

    /// Whether the output has not joined the program yet, so that packets that it does not get are not counted.
    var isJoining: Bool { state.withLock { $0.isJoining } }

    /// Records that the output has joined the program. From now on, packets that it does not get are counted as
    /// dropped.
    func joined() { state.withLock { $0.isJoining = false } }

    /// Removes all queued packets and counts them as dropped, because they will never be sent.
    package func discard() { state.withLock { $0.discard() } }

    /// Whether a keyframe should be requested: the queue waits for one and has room again. If the queue was full
    /// because the output did not read it, this is false until the output reads again: a keyframe would only wait in
    /// the queue.
    package var needsKeyframe: Bool {
        state.withLock { state in state.isRead && state.policy.needsKeyframe(depth: state.depth(with: nil)) }
    }

    /// Whether the receiver's video is frozen until the next keyframe, so that a keyframe should be requested at once;
    /// see ``DropPolicy/standsStill``.
    package var standsStill: Bool { state.withLock { $0.policy.standsStill } }

    /// The counts of all packets that were refused or removed so far.
    package var drops: DropCounts { state.withLock { $0.drops } }

    /// The number of video frames in the queue.
    package var waitingFrames: Int { state.withLock { $0.packets.count { $0.track == .video } } }

    /// A snapshot of the queue for status and metrics.
    package var status: QueueStatus {
        state.withLock { state in
            QueueStatus(
                packets: state.packets.count, bytes: state.bytes, milliseconds: state.duration(with: nil) / 1_000_000,
                drops: state.drops.causes, droppedFrames: state.drops.frames)
        }
    }
}

extension PacketQueue.State {
    /// The media time from the oldest queued packet to the newest, in nanoseconds. If `packet` is given, it counts as
    /// the newest.
    fileprivate func duration(with packet: EncodedPacket?) -> Int64 {
        guard let first = packets.first, let last = packet ?? packets.last else { return 0 }
        return max(0, last.dtsNanoseconds - first.dtsNanoseconds)
    }

    /// The delay of the output, in nanoseconds: the queued media time minus the time by which the newest packet arrived
    /// early.
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
                if !policy.mode.isHolding { isRead = false }
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

    /// Removes the packets before the newest queued keyframe, or all packets if no keyframe is queued. If room is
    /// needed for the packet `incoming`, all packets are removed in two more cases: if the newest keyframe is already
    /// the first packet of the queue, and if `incoming` is a keyframe.
    fileprivate mutating func flush(incoming: EncodedPacket?, cause: DropCause) {
        let isIncomingKeyframe = incoming.map(policy.canBegin) ?? false
        // When the connection is lost, all packets are removed if the frames after the queued keyframe were refused:
        // with this keyframe, viewers would see an old frame and then a gap.
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

/// Measures how far a packet is ahead of time, for inputs that deliver in bursts. The lateness of a packet is its
/// arrival minus its media time. A packet is ahead of time by the difference between the largest recent lateness and
/// its own lateness. Media that is ahead of time does not count as queued, because the output may take until the next
/// burst to send it. A playlist, for example, delivers a whole segment at once; an input that was just opened delivers
/// at once the packets that it kept until its tracks were known.
///
/// The packet with the largest lateness is the first packet of a burst.
struct ArrivalPace {
    /// The largest lateness is kept for at least this time, and for at most twice this time. No segment is as long as
    /// this.
    private static let window = Duration.seconds(30)
    /// The most by which a packet counts as ahead of time. No burst is longer than this. A larger difference comes from
    /// a pause of the sender.
    private static let longest = Duration.seconds(20)

    private var (slowest, before): (Int64?, Int64?)
    private var began = MonotonicInstant.distantPast

    /// Records a packet with the media time `time` that arrives at `now`. Returns how far the packet is ahead of time,
    /// in nanoseconds.
    mutating func note(_ time: ProgramInstant, at now: MonotonicInstant) -> Int64 {
        let delay = now.nanoseconds &- time.nanoseconds
        if slowest == nil || now - began > Self.window { (before, slowest, began) = (slowest, delay, now) }
        slowest = max(slowest ?? delay, delay)
        return min(Self.longest.inNanoseconds, max(slowest ?? delay, before ?? delay) &- delay)
    }
}
