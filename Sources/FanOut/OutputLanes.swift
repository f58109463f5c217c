// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The attempts of one output, each with the queue that it reads, and the state machine above them.
///
/// One lane is fed. A candidate has a queue of its own, empty until it takes over; what was on air before then sends the
/// rest of its own queue and says goodbye, so that no frame is sent twice and none is lost.
struct OutputLanes {
    /// One attempt.
    struct Lane {
        let attempt: any OutputAttempt
        let number: Int
        let target: any OutputTarget
        let packets: PacketQueue
        var step: String?
    }

    /// A candidate took over.
    struct Change {
        let retired: Lane?
        let next: Lane
        let actions: [OutputStateMachine.Action]
    }

    // What each frame needs comes first: with hundreds of outputs the time goes into fetching memory.
    /// The queue that is fed.
    var packets: PacketQueue
    /// Whether nothing is fed: the output is paused.
    var isClosed = false
    var isLive = false
    /// Whether the candidate takes over at the next keyframe.
    var isChanging = false
    /// When a keyframe is asked for that the output, or a receiver behind it, waits for.
    var keyframes = KeyframePatience()
    /// Whether the queue on air drops.
    var episode = DropEpisode()
    /// What was dropped when the output went off air.
    var dropsAtLoss: DropCounts?
    var current: Lane?
    var candidate: Lane?
    var machine: OutputStateMachine
    var retired: [Lane] = []
    var redirection: (any OutputTarget)?
    var lastLogged: OutputFailure?
    var repeats = 0
    var completions: [@Sendable () -> Void] = []
    /// Why the output ends, once it was told to.
    var endReason = EndReason.interrupted
    /// Whether the machine's work is over; retired attempts may still say goodbye.
    var isEnded = false

    private var past = AttemptProgress()
    private var pastQueues = DropCounts()

    init(machine: OutputStateMachine, packets: PacketQueue) {
        self.machine = machine
        self.packets = packets
    }

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

    private var lanes: [Lane] { retired + [current, candidate].compactMap(\.self) }

    /// At a keyframe, at `now`: lets the candidate take over, if it is ready to. In one step with the machine, so that no
    /// other event can come between.
    mutating func change(at now: Int64) -> Change? {
        guard isChanging, let next = candidate, machine.candidate?.attempt == next.number else { return nil }
        let actions = machine.handle(.handedOver(attempt: next.number, at: now))
        isChanging = false
        let old = current
        if let old { retired.append(old) }
        (current, candidate) = (next, nil)
        replaceQueue(by: next.packets)
        _ = packets.connected()
        isLive = true
        return Change(retired: old, next: next, actions: actions)
    }

    /// Feeds another queue from now on. What waits in the old one is lost, unless a retired attempt still sends it.
    mutating func replaceQueue(by next: PacketQueue) {
        let old = packets
        packets = next
        if !retired.contains(where: { $0.packets === old }) { forget(old) }
    }

    private mutating func forget(_ queue: PacketQueue) {
        queue.discard()
        pastQueues.add(queue.drops)
    }

    /// Forgets the attempt `number`, wherever it stands, and keeps its count.
    mutating func remove(_ number: Int) -> Lane? {
        let removed: Lane?
        if current?.number == number {
            removed = current
            current = nil
            isLive = false
        } else if candidate?.number == number {
            removed = candidate
            candidate = nil
            isChanging = false
        } else {
            removed = retired.first { $0.number == number }
            retired.removeAll { $0.number == number }
        }
        guard let removed else { return nil }
        past.bytes += removed.attempt.progress.bytes
        past.frames += removed.attempt.progress.frames
        past.drops.add(removed.attempt.progress.drops)
        if removed.packets !== packets { forget(removed.packets) }
        return removed
    }
}
