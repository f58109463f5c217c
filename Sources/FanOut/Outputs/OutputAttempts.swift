// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The attempts of one output, under the control of the state machine. Each attempt has its own queue; an attempt with
/// its queue is a lane.
///
/// Only one lane gets new packets. A candidate is a second attempt; its queue stays empty until it takes over. The lane
/// that was on air then sends the rest of its own queue and ends by its protocol's rules, so that no frame is sent
/// twice or lost. The machine's decisions arrive here as calls, in the machine's order; a call that does not fit the
/// phase has no effect.
struct OutputAttempts {
    /// What happens to new packets.
    enum Phase {
        /// Packets are held, and there is no attempt. Next: `connecting`, `paused`, `ended`.
        case idle
        /// Packets are held until the peer accepts the lane's attempt, which is at `step`. Next: `live`, `idle`,
        /// `paused`, `ended`.
        case connecting(OutputLane, step: String?)
        /// The lane sends the packets; there may be a candidate beside it. Next: `live` with another candidate or as
        /// the former candidate, `connecting` as the former candidate, `idle`, `paused`, `ended`.
        case live(OutputLane, Candidate?)
        /// Packets are not accepted. Next: `idle`, `ended`.
        case paused
        /// Packets are not accepted, and the machine has ended; retired attempts may still be sending. Next: nothing.
        case ended
    }

    /// A candidate that took over.
    struct Change {
        let retired: OutputLane
        let next: OutputLane
        let actions: [OutputStateMachine.Action]
    }

    // The fields used for each frame come first: with hundreds of outputs, cache misses dominate.
    /// The queue that gets new packets.
    private(set) var packets: PacketQueue
    private(set) var phase = Phase.idle { didSet { server = live?.server } }
    /// The server that sends the packets of the lane on air.
    private(set) var server: (any PacketServer)?
    /// Decides when to request a keyframe that the output, or one of its receivers, needs.
    var keyframes = KeyframePatience()
    /// Decides what is logged about drops.
    private var drops = DropLog()
    var machine: OutputStateMachine
    private(set) var retired: [OutputLane] = []
    /// The target of the server's last reconnect request.
    var redirection: (any OutputTarget)?
    var failures = FailureLog()
    /// Called when the output has ended.
    var completions: [@Sendable () -> Void] = []
    /// Why the output must end, and by when (monotonic nanoseconds). The deadline is 0 until the end is requested.
    var end = (reason: EndReason.interrupted, deadline: Int64(0))
    /// The endpoints at which the output was on air.
    private(set) var aired: Set<OutputEndpoint> = []
    /// Number of targets that are still concluding.
    var concluding = 0

    private var past = AttemptProgress()
    private var pastQueues = DropCounts()

    init(machine: OutputStateMachine, packets: PacketQueue) {
        self.machine = machine
        self.packets = packets
    }

    /// Whether packets are accepted.
    var isFed: Bool {
        switch phase {
        case .idle, .connecting, .live: true
        case .paused, .ended: false
        }
    }

    /// The lane on air.
    var live: OutputLane? {
        if case .live(let lane, _) = phase { lane } else { nil }
    }

    /// The lane on air, or the lane that is connecting.
    var current: OutputLane? {
        switch phase {
        case .connecting(let lane, _), .live(let lane, _): lane
        case .idle, .paused, .ended: nil
        }
    }

    /// The step of the current attempt while it is not on air.
    var step: String? {
        if case .connecting(_, let step) = phase { step } else { nil }
    }
}

// MARK: Transitions

extension OutputAttempts {
    /// Adds an attempt: as the output's only attempt, or as a candidate beside the lane on air. Returns whether the
    /// phase allows it.
    mutating func begin(_ lane: OutputLane) -> Bool {
        switch phase {
        case .idle: phase = .connecting(lane, step: nil)
        case .live(let live, nil): phase = .live(live, .connecting(lane))
        case .connecting, .live, .paused, .ended: return false
        }
        return true
    }

    /// Records that the attempt `number` is at `step`.
    mutating func note(step: String, of number: Int) {
        guard case .connecting(let lane, _) = phase, lane.number == number else { return }
        phase = .connecting(lane, step: step)
    }

    /// The peer accepted at `now`. Returns the lane that is now on air, and what the output missed while off air.
    /// `missed` is nil if the output still waits for a keyframe, see ``tookKeyframe()``.
    mutating func goLive(at now: Int64) -> (lane: OutputLane, missed: DropCounts?)? {
        guard case .connecting(let lane, _) = phase else { return nil }
        phase = .live(lane, nil)
        aired.insert(lane.endpoint)
        guard packets.connected() else {
            keyframes.wait(from: now)
            return (lane, nil)
        }
        return (lane, tookKeyframe())
    }

    /// The queue accepted a keyframe. If the output on air waited for it, returns what the output missed until then.
    /// Packets that were refused before that count as missed off air, and do not indicate a slow target.
    mutating func tookKeyframe() -> DropCounts? {
        guard case .live = phase else { return nil }
        return drops.join(queueDrops)
    }

    /// Checks the drops of the queue on air, after a drop and at each keyframe.
    mutating func noteDrops(at now: Int64) -> DropLog.Event? {
        guard case .live = phase else { return nil }
        return drops.note(queueDrops, at: now)
    }

    /// The output goes off air: its queue is cut to the newest keyframe.
    mutating func hold() -> DropLog.Event? {
        keyframes.stopWaiting()
        let event = drops.leave(queueDrops)
        packets.disconnected()
        return event
    }

    /// No receiver of the lane `number` is waiting for a keyframe any more.
    mutating func stopWaiting(_ number: Int) {
        // A candidate that is ready to take over waits for a keyframe, even if the lane on air needs none.
        guard case .live(let lane, let candidate) = phase, lane.number == number else { return }
        if case .ready = candidate { return }
        keyframes.stopWaiting()
    }

    /// The candidate's peer accepted at `now`: the candidate takes over at the next keyframe.
    mutating func arrangeChange(at now: Int64) {
        guard case .live(let lane, .connecting(let next)) = phase else { return }
        phase = .live(lane, .ready(next))
        keyframes.wait(from: now)
    }

    /// Called at a keyframe, at `now`: lets the candidate take over if it is ready. The machine changes in the same
    /// step, so that no other event can come in between.
    mutating func change(at now: Int64) -> Change? {
        guard case .live(let old, .ready(let next)) = phase, machine.candidate?.attempt == next.number else {
            return nil
        }
        let actions = machine.handle(.handedOver(attempt: next.number, at: now))
        retired.append(old)
        phase = .live(next, nil)
        aired.insert(next.endpoint)
        feed(next.packets)
        _ = packets.connected()
        // This is called here, because the output's own thread may drain the lane as soon as the lock is free.
        next.attempt.goLive()
        return Change(retired: old, next: next, actions: actions)
    }

    /// The former candidate becomes the output's only attempt, see ``remove(_:)``. Its queue gets the new packets.
    mutating func promote() -> DropLog.Event? {
        guard case .connecting(let lane, _) = phase, lane.packets !== packets else { return nil }
        let event = drops.leave(queueDrops)
        feed(lane.packets)
        packets.joined()
        return event
    }

    /// Stops accepting packets until ``open()``, and discards the packets that no attempt will send, because `next`
    /// replaces the queue.
    mutating func pause(with next: PacketQueue) -> DropLog.Event? {
        phase = .paused
        keyframes.stopWaiting()
        let event = drops.leave(queueDrops)
        feed(next)
        return event
    }

    /// Accepts packets again. Packets that came in the meantime do not count as missed.
    mutating func open() {
        guard case .paused = phase else { return }
        (phase, drops) = (.idle, DropLog())
    }

    /// Lets the attempt on air send the rest of its queue while the next attempt runs.
    mutating func retire(_ number: Int) -> OutputLane? {
        guard case .live(let lane, _) = phase, lane.number == number else { return nil }
        leave()
        retired.append(lane)
        return lane
    }

    /// Removes the attempt `number`, in any state, and keeps its counts. If it was on air with a candidate, the
    /// candidate becomes the attempt that is connecting.
    mutating func remove(_ number: Int) -> OutputLane? {
        guard let lane = take(number) else { return nil }
        let progress = lane.attempt.progress
        past.bytes += progress.bytes
        past.frames += progress.frames
        past.drops.add(progress.drops)
        past.drops.add(.notConnected, frames: progress.waitingFrames)
        if lane.packets !== packets { forget(lane.packets) }
        return lane
    }

    /// The state machine has ended: what still waits in the queue counts as dropped.
    mutating func close() -> DropLog.Event? {
        phase = .ended
        let event = drops.leave(queueDrops)
        // A retired attempt still sends its own queue.
        if !retired.contains(where: { $0.packets === packets }) { packets.discard() }
        return event
    }

    private mutating func take(_ number: Int) -> OutputLane? {
        switch phase {
        case .connecting(let lane, _) where lane.number == number:
            phase = .idle
            return lane
        case .live(let lane, _) where lane.number == number:
            leave()
            return lane
        case .live(let lane, let candidate?) where candidate.lane.number == number:
            // The candidate would have taken over at the keyframe. Any other receiver that needs a keyframe requests it
            // again.
            if case .ready = candidate { keyframes.stopWaiting() }
            phase = .live(lane, nil)
            return candidate.lane
        default:
            guard let index = retired.firstIndex(where: { $0.number == number }) else { return nil }
            return retired.remove(at: index)
        }
    }

    /// Takes the lane on air off air.
    private mutating func leave() {
        guard case .live(_, let candidate) = phase else { return }
        phase = candidate.map { .connecting($0.lane, step: nil) } ?? .idle
    }

    /// Adds new packets to `next` from now on. Packets in the old queue are lost, unless a retired attempt still sends
    /// them.
    private mutating func feed(_ next: PacketQueue) {
        let old = packets
        packets = next
        if !retired.contains(where: { $0.packets === old }) { forget(old) }
    }

    private mutating func forget(_ queue: PacketQueue) {
        queue.discard()
        pastQueues.add(queue.drops)
    }
}

// MARK: Numbers

extension OutputAttempts {
    /// Bytes sent by all attempts.
    var bytes: UInt64 { lanes.reduce(past.bytes) { $0 + $1.attempt.progress.bytes } }

    /// Frames sent by all attempts.
    var frames: UInt64 { lanes.reduce(past.frames) { $0 + $1.attempt.progress.frames } }

    /// The state of the queue that gets new packets, including the drops of all earlier queues and of all attempts.
    var queueStatus: QueueStatus {
        var status = packets.status
        status.dropCounts = queueDrops
        for lane in lanes { status.dropCounts.add(lane.attempt.progress.drops) }
        status.dropCounts.add(past.drops)
        return status
    }

    /// The drops of the output's own queues, of the current one and all earlier ones.
    var queueDrops: DropCounts {
        var drops = packets.drops
        for lane in retired where lane.packets !== packets { drops.add(lane.packets.drops) }
        drops.add(pastQueues)
        return drops
    }

    private var lanes: [OutputLane] {
        switch phase {
        case .connecting(let lane, _): retired + [lane]
        case .live(let lane, let candidate): retired + [lane] + (candidate.map { [$0.lane] } ?? [])
        case .idle, .paused, .ended: retired
        }
    }
}
