// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The attempts of one output, each with the queue that it reads, and the state machine above them.
///
/// One lane is fed. A candidate has a queue of its own, empty until it takes over; what was on air before then sends the
/// rest of its own queue and ends by its protocol's rules, so that no frame is sent twice and none is lost. What the
/// machine decides arrives here as calls, in the machine's order; a call that does not fit the phase changes nothing.
struct OutputAttempts {
    /// What happens to packets that come.
    enum Phase {
        /// They are held, and no attempt is under way. Next: `connecting`, `paused`, `ended`.
        case idle
        /// They are held until the peer accepts the lane's attempt, which is at `step`. Next: `live`, `idle`, `paused`,
        /// `ended`.
        case connecting(OutputLane, step: String?)
        /// The lane sends them, perhaps with a candidate beside it. Next: `live` with another candidate or as the former
        /// candidate, `connecting` with what was the candidate, `idle`, `paused`, `ended`.
        case live(OutputLane, Candidate?)
        /// They are not taken. Next: `idle`, `ended`.
        case paused
        /// They are not taken, and the machine's work is over; retired attempts may still send their rest. Next: none.
        case ended
    }

    /// A candidate took over.
    struct Change {
        let retired: OutputLane
        let next: OutputLane
        let actions: [OutputStateMachine.Action]
    }

    // What each frame needs comes first: with hundreds of outputs the time goes into fetching memory.
    /// The queue that is fed.
    private(set) var packets: PacketQueue
    private(set) var phase = Phase.idle { didSet { server = live?.server } }
    /// Who sends what the lane on air holds.
    private(set) var server: (any PacketServer)?
    /// When a keyframe is asked for that the output, or a receiver behind it, waits for.
    var keyframes = KeyframePatience()
    /// What is told of drops.
    private var drops = DropLog()
    var machine: OutputStateMachine
    private(set) var retired: [OutputLane] = []
    /// Where the server asked the output to go last.
    var redirection: (any OutputTarget)?
    var failures = FailureLog()
    /// Who is to be told of the output's end.
    var completions: [@Sendable () -> Void] = []
    /// Why the output ends, and by when (monotonic nanoseconds), once it was told to.
    var end = (reason: EndReason.interrupted, deadline: Int64(0))
    /// Where the output was on air.
    private(set) var aired: Set<OutputEndpoint> = []
    /// Targets that are completing what they left open.
    var concluding = 0

    private var past = AttemptProgress()
    private var pastQueues = DropCounts()

    init(machine: OutputStateMachine, packets: PacketQueue) {
        self.machine = machine
        self.packets = packets
    }

    /// Whether packets are taken.
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

    /// The lane on air, or that which is to be.
    var current: OutputLane? {
        switch phase {
        case .connecting(let lane, _), .live(let lane, _): lane
        case .idle, .paused, .ended: nil
        }
    }

    /// What the attempt under way is doing, while it is not on air.
    var step: String? {
        if case .connecting(_, let step) = phase { step } else { nil }
    }
}

// MARK: Transitions

extension OutputAttempts {
    /// An attempt begins: as the output's own, or as the candidate beside the one on air. Returns whether there is a place
    /// for it.
    mutating func begin(_ lane: OutputLane) -> Bool {
        switch phase {
        case .idle: phase = .connecting(lane, step: nil)
        case .live(let live, nil): phase = .live(live, .connecting(lane))
        case .connecting, .live, .paused, .ended: return false
        }
        return true
    }

    /// The attempt `number` is at `step`.
    mutating func note(step: String, of number: Int) {
        guard case .connecting(let lane, _) = phase, lane.number == number else { return }
        phase = .connecting(lane, step: step)
    }

    /// The peer accepted, at `now`. Returns the lane that is on air, and what the output missed while it was not,
    /// unless it keeps missing frames until ``tookKeyframe()``.
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

    /// The queue took a keyframe. If it was the one that the output on air waited for, returns what was missed until then:
    /// what is refused before belongs to the time off air, and is no sign of a slow target.
    mutating func tookKeyframe() -> DropCounts? {
        guard case .live = phase else { return nil }
        return drops.join(queueDrops)
    }

    /// Looks at what the queue on air dropped, after a drop and at each keyframe.
    mutating func noteDrops(at now: Int64) -> DropLog.Event? {
        guard case .live = phase else { return nil }
        return drops.note(queueDrops, at: now)
    }

    /// The output is off air: what it holds is cut to the newest keyframe.
    mutating func hold() -> DropLog.Event? {
        keyframes.stopWaiting()
        let event = drops.leave(queueDrops)
        packets.disconnected()
        return event
    }

    /// No receiver of the lane `number` waits for a keyframe any more.
    mutating func stopWaiting(_ number: Int) {
        // A candidate that is to take over waits for one, whatever the lane on air needs.
        guard case .live(let lane, let candidate) = phase, lane.number == number else { return }
        if case .ready = candidate { return }
        keyframes.stopWaiting()
    }

    /// The candidate's peer accepted, at `now`: it takes over at the next keyframe.
    mutating func arrangeChange(at now: Int64) {
        guard case .live(let lane, .connecting(let next)) = phase else { return }
        phase = .live(lane, .ready(next))
        keyframes.wait(from: now)
    }

    /// At a keyframe, at `now`: lets the candidate take over, if it is ready to. In one step with the machine, so that no
    /// other event can come between.
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
        // At once, because the output's own thread may tell the lane to drain as soon as the lock is free.
        next.attempt.goLive()
        return Change(retired: old, next: next, actions: actions)
    }

    /// The former candidate is the output's one attempt from now on, see ``remove(_:)``. Its queue is fed.
    mutating func promote() -> DropLog.Event? {
        guard case .connecting(let lane, _) = phase, lane.packets !== packets else { return nil }
        let event = drops.leave(queueDrops)
        feed(lane.packets)
        packets.joined()
        return event
    }

    /// Packets are not taken until ``open()``, and those that no attempt will send are forgotten, because `next` takes
    /// the queue's place.
    mutating func pause(with next: PacketQueue) -> DropLog.Event? {
        phase = .paused
        keyframes.stopWaiting()
        let event = drops.leave(queueDrops)
        feed(next)
        return event
    }

    /// Packets are taken again. What was not taken is not missed.
    mutating func open() {
        guard case .paused = phase else { return }
        (phase, drops) = (.idle, DropLog())
    }

    /// Lets the attempt on air send its rest beside what follows.
    mutating func retire(_ number: Int) -> OutputLane? {
        guard case .live(let lane, _) = phase, lane.number == number else { return nil }
        leave()
        retired.append(lane)
        return lane
    }

    /// Forgets the attempt `number`, in whatever state it is, and keeps its count. If it was on air and had a candidate
    /// beside it, that is the one that connects from now on.
    mutating func remove(_ number: Int) -> OutputLane? {
        guard let lane = take(number) else { return nil }
        let progress = lane.attempt.progress
        past.bytes += progress.bytes
        past.frames += progress.frames
        past.drops.add(progress.drops)
        if lane.packets !== packets { forget(lane.packets) }
        return lane
    }

    /// The machine's work is over.
    mutating func close() -> DropLog.Event? {
        phase = .ended
        return drops.leave(queueDrops)
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
            // The candidate was to take over at the keyframe. Any other receiver that needs one asks again.
            if case .ready = candidate { keyframes.stopWaiting() }
            phase = .live(lane, nil)
            return candidate.lane
        default:
            guard let index = retired.firstIndex(where: { $0.number == number }) else { return nil }
            return retired.remove(at: index)
        }
    }

    /// The lane on air is on air no more.
    private mutating func leave() {
        guard case .live(_, let candidate) = phase else { return }
        phase = candidate.map { .connecting($0.lane, step: nil) } ?? .idle
    }

    /// Feeds another queue from now on. What waits in the old one is lost, unless a retired attempt still sends it.
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
    /// Bytes sent over all attempts.
    var bytes: UInt64 { lanes.reduce(past.bytes) { $0 + $1.attempt.progress.bytes } }

    /// Frames sent over all attempts.
    var frames: UInt64 { lanes.reduce(past.frames) { $0 + $1.attempt.progress.frames } }

    /// The queue that is fed, with the drops of all queues before it and of what attempts dropped behind them.
    var queueStatus: QueueStatus {
        var status = packets.status
        status.dropCounts = queueDrops
        for lane in lanes { status.dropCounts.add(lane.attempt.progress.drops) }
        status.dropCounts.add(past.drops)
        return status
    }

    /// What the output's own queues dropped, now and before.
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
