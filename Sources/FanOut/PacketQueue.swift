// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
package import Media
internal import Synchronization

/// A queue's fill level and drops at one moment.
package struct QueueStatus: Sendable, Codable, Equatable {
    /// Number of queued packets.
    package var packets = 0
    /// Queued payload bytes.
    package var bytes = 0
    /// Queued media time, in milliseconds.
    package var milliseconds: Int64 = 0
    /// The media time at which the queue is emptied; 0 if unknown.
    package var boundMilliseconds: Int64 = 0
    /// Packets that did not reach the output, by cause.
    package var drops: [DropCause: Int] = [:]
    /// Number of frames among the dropped packets.
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
/// The publishing thread calls `push`, which never blocks; the output's own thread pops. Refused packets are counted by
/// cause. Packets are shared, never copied.
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
        /// Whether the output has not joined the program yet: no packet counts as missed.
        var isJoining: Bool
        /// Whether the output has taken packets, or asked for some, since the queue was last full.
        var isRead = true
        var pace = ArrivalPace()
        /// How much earlier the newest packet arrived than the slowest recent arrivals (see ``ArrivalPace``), in
        /// nanoseconds.
        var ahead: Int64 = 0
    }

    /// The result of a push.
    package enum Outcome: Sendable, Equatable {
        /// The packet is in the queue.
        case queued
        /// The packet was refused.
        case dropped(DropCause)
    }

    /// The limits.
    package let limits: QueueLimits
    /// Measures when packets arrive, which may come in bursts.
    private let clock: any MonotonicClock
    private let state: Mutex<State>

    /// An empty queue with these limits. `isFromStart` means that the first packets are the program's first, which are
    /// kept for a target that is not connected yet. `awaitsCallers` means that packets do not count as missed until a
    /// receiver connects. Decoders can start at keyframes of `leading`.
    package init(
        limits: QueueLimits, isFromStart: Bool = true, awaitsCallers: Bool = false, leading: TrackKind = .video,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.limits, self.clock) = (limits, clock)
        let policy = DropPolicy(limits: limits, mode: isFromStart ? .holdingStart : .holding, leading: leading)
        state = Mutex(State(policy: policy, isJoining: !isFromStart || awaitsCallers))
    }

    /// Appends `packet` if the policy accepts it.
    @discardableResult
    package func push(_ packet: EncodedPacket) -> Outcome {
        let now = limits.takesBursts ? clock.now : nil
        return state.withLock { state in
            if let now { state.ahead = state.pace.note(packet.dtsNanoseconds, at: now) }
            return state.push(packet)
        }
    }

    /// Queues the first packets of an output that joins on air, see ``PacketStream/join(_:)``. They are the current
    /// GOP, regardless of its length: the GOP extends the limits until the output has caught up. The queue must be
    /// empty.
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

    /// Removes and returns the oldest packet.
    package func pop() -> EncodedPacket? {
        state.withLock { state in
            state.isRead = true
            return state.pop()
        }
    }

    /// Moves the oldest packets into `batch` until `batch` has `bytes` of payload; the packet that reaches this size is
    /// included. Returns whether the queue is empty now.
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

    /// The output went on air: the live thresholds apply once the backlog was sent. Returns whether a decoder can start
    /// with the queued packets, or with the next one.
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

    /// The output lost its connection: the queue is cut to its newest keyframe.
    package func disconnected() {
        state.withLock { state in
            state.policy.disconnected()
            state.flush(incoming: nil, cause: .notConnected)
        }
    }

    /// The target accepts nothing, or lost its data, and can continue only at a keyframe. The queue is cut to its
    /// newest keyframe, and until ``connected()`` only packets from the newest keyframe on are kept.
    package func hold() {
        state.withLock { state in
            state.policy.disconnected()
            state.flush(incoming: nil, cause: .overflow)
        }
    }

    /// Whether packets that the output does not get do not count, because it has not joined the program yet.
    var isJoining: Bool { state.withLock { $0.isJoining } }

    /// The output has joined the program: from now on, packets that it does not get count as missed.
    func joined() { state.withLock { $0.isJoining = false } }

    /// Removes all queued packets, and counts them as dropped, because they will not be sent.
    package func discard() { state.withLock { $0.discard() } }

    /// Whether the queue has room again but waits for a keyframe: the moment to request one. A queue that is emptied
    /// because it is not read has room, too, but a keyframe would only wait there, so none is requested until the
    /// output reads again.
    package var needsKeyframe: Bool {
        state.withLock { state in state.isRead && state.policy.needsKeyframe(depth: state.depth(with: nil)) }
    }

    /// Whether an output that waits for a keyframe gets at most still frames until then, because keyframes waited with
    /// no frames behind them, or the queue was emptied: one should be requested at once.
    package var standsStill: Bool { state.withLock { $0.policy.standsStill } }

    /// The refused and removed packets so far.
    package var drops: DropCounts { state.withLock { $0.drops } }

    /// How many frames are in the queue.
    package var waitingFrames: Int { state.withLock { $0.packets.count { $0.track == .video } } }

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

    /// The output's delay, in nanoseconds: the duration of the queue, without the time by which the newest packet came
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

    /// Removes the packets before the newest keyframe, or all packets if there is no keyframe. If room is needed for an
    /// incoming packet, also removes all packets if that keyframe is the first packet, or if the incoming packet is a
    /// keyframe.
    fileprivate mutating func flush(incoming: EncodedPacket?, cause: DropCause) {
        let isIncomingKeyframe = incoming.map(policy.canBegin) ?? false
        // When the connection is lost, a keyframe is useless if the frames after it were refused: viewers would see an
        // old frame, then a gap.
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

/// Tracks the lateness of packets (arrival minus media time), to find out how far a packet is ahead of the slowest
/// recent packets. Such packets do not count as queued: a playlist delivers a whole segment at once, and an input that
/// was just opened delivers what it kept until its tracks were known. The output has until the next burst to send them.
///
/// The slowest packet is the first packet of each burst.
struct ArrivalPace {
    /// The minimum time for which the slowest lateness is kept; the maximum is twice as long. Longer than any segment.
    private static let window: Int64 = 30_000_000_000
    /// The maximum by which a packet counts as ahead of time. No burst is longer: a larger difference is the result of
    /// a silence of the sender.
    private static let longest: Int64 = 20_000_000_000

    private var (slowest, before): (Int64?, Int64?)
    private var began: Int64 = 0

    /// Records a packet of media time `time` that arrives at `now`, both in nanoseconds, and returns how far it is
    /// ahead of time.
    mutating func note(_ time: Int64, at now: Int64) -> Int64 {
        let delay = now &- time
        if slowest == nil || now &- began > Self.window { (before, slowest, began) = (slowest, delay, now) }
        slowest = max(slowest ?? delay, delay)
        return min(Self.longest, max(slowest ?? delay, before ?? delay) &- delay)
    }
}
