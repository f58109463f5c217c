// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The attempts of one output. They carry out the decisions of ``OutputStateMachine``. An ``OutputLane`` is an attempt
/// together with its packet queue.
///
/// Only one attempt gets new packets. A candidate is a second attempt that is to replace the attempt on air. The
/// candidate's queue stays empty until the candidate takes over. The attempt that was on air is then retired: it sends
/// the rest of its own queue and ends by its protocol's rules. So no frame is sent twice, and none is lost. The state
/// machine's decisions come as method calls in the order of the decisions. A call that does not fit the present phase
/// has no effect.
struct OutputAttempts {
    /// What happens to new packets, and which attempts exist.
    enum Phase {
        /// No attempt is on air or connecting. New packets wait in the queue. Next phases: `connecting`, `paused`,
        /// `ended`.
        case idle
        /// The attempt is connecting and has reached `step`. New packets wait in its queue until the peer accepts. Next
        /// phases: `live`, `idle`, `paused`, `ended`.
        case connecting(OutputLane, step: String?)
        /// The attempt is on air and sends new packets. There may be a candidate, a second attempt that is to replace
        /// it. Next phases: `live` with the candidate that took over; `connecting` with the candidate, if the attempt
        /// on air ended first; `idle`, `paused`, `ended`.
        case live(OutputLane, Candidate?)
        /// New packets are not accepted. Next phases: `idle`, `ended`.
        case paused
        /// The state machine has ended, and new packets are not accepted. Earlier attempts may still send the rest of
        /// their queues. No phase follows.
        case ended
    }

    /// The change from the attempt on air to the candidate that replaces it.
    struct Change {
        let retired: OutputLane
        let next: OutputLane
        let actions: [OutputStateMachine.Action]
    }

    // The fields that are used for each frame come first, because with hundreds of outputs most time goes into cache
    // misses.
    /// The queue that gets new packets.
    private(set) var packets: PacketQueue
    private(set) var phase = Phase.idle { didSet { server = live?.server } }
    /// The server that sends the packets of the attempt on air; nil if no attempt is on air.
    private(set) var server: (any PacketServer)?
    /// Decides when to request a keyframe for the output or for one of its receivers.
    var keyframes = KeyframePatience()
    /// Decides what is logged about dropped packets.
    private var drops = DropLog()
    var machine: OutputStateMachine
    private(set) var retired: [OutputLane] = []
    /// The target to which the server redirected the output last; nil if no server did.
    var redirection: (any OutputTarget)?
    var failures = FailureLog()
    /// Closures to call when the output has ended.
    var completions: [@Sendable () -> Void] = []
    /// Why the output must end, and by when. The deadline is nil until a caller asks the output to end.
    var end = (reason: EndReason.interrupted, deadline: MonotonicInstant?.none)
    /// The endpoints at which the output was on air.
    private(set) var aired: Set<OutputEndpoint> = []
    /// The number of targets whose ``OutputTarget/conclude(_:)`` has not completed yet.
    var concluding = 0
    /// Whether the newest attempt has closed its listening socket.
    private(set) var hasStoppedListening = false
    /// The closure to call when a removed output has closed its listening socket; nil before the output is removed.
    var whenNotListening: (@Sendable () -> Void)?
    /// The number of the newest attempt.
    private var newest = 0

    private var past = AttemptProgress()
    private var pastQueues = DropCounts()

    init(machine: OutputStateMachine, packets: PacketQueue) {
        self.machine = machine
        self.packets = packets
    }

    /// Whether the queue accepts new packets.
    var isFed: Bool {
        switch phase {
        case .idle, .connecting, .live: true
        case .paused, .ended: false
        }
    }

    /// The attempt that is on air, with its queue; nil if no attempt is on air.
    var live: OutputLane? {
        if case .live(let lane, _) = phase { lane } else { nil }
    }

    /// The attempt that is on air or connecting, with its queue; nil without such an attempt. A candidate does not
    /// count.
    var current: OutputLane? {
        switch phase {
        case .connecting(let lane, _), .live(let lane, _): lane
        case .idle, .paused, .ended: nil
        }
    }

    /// The step that a connecting attempt has reached; nil if no attempt is connecting.
    var step: String? {
        if case .connecting(_, let step) = phase { step } else { nil }
    }
}

// MARK: Transitions

extension OutputAttempts {
    /// Adds an attempt. If there is no other attempt, `lane` becomes the output's connecting attempt. If an attempt is
    /// on air, `lane` becomes the candidate that is to replace it. Returns whether the present phase allows another
    /// attempt.
    mutating func begin(_ lane: OutputLane) -> Bool {
        switch phase {
        case .idle: phase = .connecting(lane, step: nil)
        case .live(let live, nil): phase = .live(live, .connecting(lane))
        case .connecting, .live, .paused, .ended: return false
        }
        (newest, hasStoppedListening) = (lane.number, false)
        return true
    }

    /// Records that the attempt `number` has closed its listening socket. If this is the newest attempt, returns
    /// ``whenNotListening``, which the caller must call.
    mutating func stoppedListening(_ number: Int) -> (@Sendable () -> Void)? {
        guard number == newest else { return nil }
        hasStoppedListening = true
        return whenNotListening
    }

    /// Records that the attempt `number` has reached `step`.
    mutating func note(step: String, of number: Int) {
        guard case .connecting(let lane, _) = phase, lane.number == number else { return }
        phase = .connecting(lane, step: step)
    }

    /// Records that the peer accepted the stream at `now`. Returns the attempt that is now on air, and the packets that
    /// the output missed while it was off air; nil if no attempt is connecting. `missed` is nil if the output is on air
    /// for the first time. It is also nil if the output still waits for a keyframe; ``tookKeyframe()`` returns the
    /// missed packets then.
    mutating func goLive(at now: MonotonicInstant) -> (lane: OutputLane, missed: DropCounts?)? {
        guard case .connecting(let lane, _) = phase else { return nil }
        phase = .live(lane, nil)
        aired.insert(lane.endpoint)
        guard packets.connected() else {
            keyframes.wait(from: now)
            return (lane, nil)
        }
        return (lane, tookKeyframe())
    }

    /// Records that the queue accepted a keyframe. If the output on air waited for this keyframe, returns the packets
    /// that the output missed until then. Packets that were refused before the keyframe count as missed off air,
    /// because they do not show that the target is too slow.
    mutating func tookKeyframe() -> DropCounts? {
        guard case .live = phase else { return nil }
        return drops.join(queueDrops)
    }

    /// Compares the drop counts of the output on air with the earlier ones, and returns what to log about new drops.
    /// Called after a drop and at each keyframe.
    mutating func noteDrops(at now: MonotonicInstant) -> DropLog.Event? {
        guard case .live = phase else { return nil }
        return drops.note(queueDrops, at: now)
    }

    /// Takes the output off air. All packets before the newest keyframe in its queue are removed.
    mutating func hold() -> DropLog.Event? {
        keyframes.stopWaiting()
        let event = drops.leave(queueDrops)
        packets.disconnected()
        return event
    }

    /// Records that no receiver of the attempt `number` waits for a keyframe any more.
    mutating func stopWaiting(_ number: Int) {
        // A candidate that is ready to take over still waits for a keyframe, even if no receiver of the attempt on air
        // waits for one.
        guard case .live(let lane, let candidate) = phase, lane.number == number else { return }
        if case .ready = candidate { return }
        keyframes.stopWaiting()
    }

    /// Records that the candidate's peer accepted the stream at `now`. The candidate will take over at the next
    /// keyframe.
    mutating func arrangeChange(at now: MonotonicInstant) {
        guard case .live(let lane, .connecting(let next)) = phase else { return }
        phase = .live(lane, .ready(next))
        keyframes.wait(from: now)
    }

    /// Lets the candidate replace the attempt on air if the candidate is ready. Called at a keyframe, at the moment
    /// `now`. The state machine changes its state under the same lock, so that no other event can come in between.
    mutating func change(at now: MonotonicInstant) -> Change? {
        guard case .live(let old, .ready(let next)) = phase, machine.candidate?.attempt == next.number else {
            return nil
        }
        let actions = machine.handle(.handedOver(attempt: next.number, at: now))
        retired.append(old)
        phase = .live(next, nil)
        aired.insert(next.endpoint)
        feed(next.packets)
        _ = packets.connected()
        // The lock is still held while the next attempt goes live, because the output's own dispatch queue may drain
        // this attempt as soon as the lock is released.
        next.attempt.goLive()
        return Change(retired: old, next: next, actions: actions)
    }

    /// Gives new packets to the queue of the former candidate, which ``remove(_:)`` has made the output's only attempt.
    mutating func promote() -> DropLog.Event? {
        guard case .connecting(let lane, _) = phase, lane.packets !== packets else { return nil }
        let event = drops.leave(queueDrops)
        feed(lane.packets)
        packets.joined()
        return event
    }

    /// Stops accepting packets until ``open()``. `next` replaces the queue. The old queue's packets are discarded
    /// unless an earlier attempt still sends them.
    mutating func pause(with next: PacketQueue) -> DropLog.Event? {
        phase = .paused
        keyframes.stopWaiting()
        let event = drops.leave(queueDrops)
        feed(next)
        return event
    }

    /// Accepts packets again after a pause. Packets that came during the pause do not count as missed.
    mutating func open() {
        guard case .paused = phase else { return }
        (phase, drops) = (.idle, DropLog())
    }

    /// Takes the attempt `number` off air and retires it: the attempt sends the rest of its queue while the next
    /// attempt may already run.
    mutating func retire(_ number: Int) -> OutputLane? {
        guard case .live(let lane, _) = phase, lane.number == number else { return nil }
        leave()
        retired.append(lane)
        return lane
    }

    /// Removes the attempt `number`, whatever its state is, and keeps its counts. If the attempt was on air and there
    /// was a candidate, the candidate becomes the attempt that is connecting.
    mutating func remove(_ number: Int) -> OutputLane? {
        guard let lane = take(number) else { return nil }
        // Until the attempt has closed, it may still read its queue. So a queue that no other attempt will send is
        // emptied before the attempt's counts are read: a packet that the attempt took later would not be counted.
        if lane.packets !== packets {
            forget(lane.packets)
        } else if machine.state == .stopped, !lanes.contains(where: { $0.packets === packets }) {
            packets.discard()
        }
        let progress = lane.attempt.progress
        past.bytes += progress.bytes
        past.frames += progress.frames
        past.drops.add(progress.drops)
        past.drops.add(.notConnected, frames: progress.waitingFrames)
        return lane
    }

    /// Ends the output, because its state machine has ended. Packets that still wait in the queue count as dropped.
    mutating func close() -> DropLog.Event? {
        phase = .ended
        let event = drops.leave(queueDrops)
        // The packets in the queue are kept if an earlier attempt still sends them.
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
            // The removed candidate was ready, and waited for a keyframe that it no longer needs. A receiver that needs
            // a keyframe will ask for it again.
            if case .ready = candidate { keyframes.stopWaiting() }
            phase = .live(lane, nil)
            return candidate.lane
        default:
            guard let index = retired.firstIndex(where: { $0.number == number }) else { return nil }
            return retired.remove(at: index)
        }
    }

    /// Takes the live attempt off air. A candidate, if there is one, becomes the connecting attempt.
    private mutating func leave() {
        guard case .live(_, let candidate) = phase else { return }
        phase = candidate.map { .connecting($0.lane, step: nil) } ?? .idle
    }

    /// From now on, new packets go to the queue `next`. Packets in the old queue are discarded, unless an earlier
    /// attempt still sends them.
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
    /// The number of bytes that all attempts have sent.
    var bytes: UInt64 { lanes.reduce(past.bytes) { $0 + $1.attempt.progress.bytes } }

    /// The number of frames that all attempts have sent.
    var frames: UInt64 { lanes.reduce(past.frames) { $0 + $1.attempt.progress.frames } }

    /// The status of the queue that gets new packets. Its drops include those of all earlier queues and of all
    /// attempts.
    var queueStatus: QueueStatus {
        var status = packets.status
        status.dropCounts = queueDrops
        for lane in lanes { status.dropCounts.add(lane.attempt.progress.drops) }
        status.dropCounts.add(past.drops)
        return status
    }

    /// The drops of the current queue and of all earlier queues of the output, without those of the attempts.
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
