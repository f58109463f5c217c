// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import Logging
public import Media
internal import Synchronization

/// The lasting owner of one live output: its queue, its state and whichever attempts are under way.
///
/// Its own serial queue runs the state machine and never blocks; whatever can block is the attempt's business. All calls
/// may come from any thread.
public final class OutputSupervisor: PacketConsumer {
    let state: Mutex<OutputLanes>
    /// When a frame was last dropped, on air (monotonic nanoseconds); 0 when that is over. The publishing thread's own.
    private let lastDrop = Atomic<Int64>(0)
    /// Without a drop for this long, dropping is over.
    private static let recovery = Duration.seconds(10)
    /// Where all outputs' queues run: nothing blocks there, and hundreds of outputs that start at once must not take a
    /// thread each.
    private static let shared = DispatchQueue(label: "relay.outputs")

    /// The output's name, unique in its channel.
    public let name: String

    let primary: any OutputTarget
    let backup: (any OutputTarget)?
    let description: StreamDescription
    let limits: QueueLimits
    let keyframes: any KeyframeRequester
    let clock: any MonotonicClock
    let logger: Logger
    let queue: DispatchQueue

    /// An output that is not started yet. `joinsRunningProgram` says that the program has begun: the output begins at a
    /// keyframe that comes anyway, and not with the program's first frame. A `backup` is used by the rules of `retry`.
    public init(
        name: String, target: any OutputTarget, backup: (any OutputTarget)? = nil, description: StreamDescription,
        limits: QueueLimits = .live, retry: RetryPolicy = RetryPolicy(), joinsRunningProgram: Bool = false,
        keyframes: any KeyframeRequester, clock: any MonotonicClock = SystemClock(), logger: Logger
    ) {
        self.name = name
        primary = target
        self.backup = backup
        self.description = description
        self.limits = limits
        self.keyframes = keyframes
        self.clock = clock
        var logger = logger
        logger[metadataKey: "output"] = "\(name)"
        self.logger = logger
        queue = DispatchQueue(label: "relay.output.\(name)", target: Self.shared)
        var policy = retry
        policy.hasBackup = backup != nil
        state = Mutex(
            OutputLanes(
                machine: OutputStateMachine(policy: policy),
                packets: PacketQueue(limits: limits, isFromStart: !joinsRunningProgram),
                isPlannedJoin: joinsRunningProgram))
    }

    /// Begins the first attempt. Packets may be queued before.
    public func start() { post(.start) }

    /// Tries at once what would be tried later: the next attempt, or, on the backup, the primary.
    public func retryNow() { post(.retryNow) }

    /// Goes off air by the protocol's rules and stays off until ``resume()``.
    public func pause() { post(.pause) }

    /// Goes on air again after ``pause()``.
    public func resume() { post(.resume) }

    public func accept(_ packets: [EncodedPacket]) {
        var (change, refusal, hasKeyframe) = (OutputLanes.Change?.none, DropCause?.none, false)
        state.withLock { lanes in
            for packet in packets {
                let isKeyframe = packet.track == .video && packet.isKeyframe
                if isKeyframe, lanes.isChanging { change = lanes.change(at: clock.now) }
                guard !lanes.isClosed else { continue }
                switch lanes.packets.push(packet) {
                case .queued: hasKeyframe = hasKeyframe || isKeyframe
                case .dropped(let cause): refusal = cause
                }
            }
        }
        if let change { complete(change) }
        if let refusal { note(refusal) }
        if hasKeyframe, lastDrop.load(ordering: .relaxed) > 0 { noteRecovery() }
    }

    private func note(_ refusal: DropCause) {
        guard refusal == .disposable || refusal == .congestion else { return }
        if lastDrop.exchange(clock.now, ordering: .relaxed) == 0 {
            logger.warning(
                "the target takes less than the program makes: frames are dropped",
                metadata: ["cause": "\(refusal.rawValue)", "queue_ms": "\(fedQueue.status.milliseconds)"])
        }
    }

    /// A target that is too slow for long drops and recovers every few seconds; that is one event for an operator.
    private func noteRecovery() {
        let last = lastDrop.load(ordering: .relaxed)
        guard clock.now - last > Self.recovery.inNanoseconds else { return }
        lastDrop.store(0, ordering: .relaxed)
        logger.notice("no frame was dropped for 10 s", metadata: ["dropped": "\(fedQueue.status.droppedFrames)"])
    }

    private var fedQueue: PacketQueue { state.withLock { $0.packets } }

    public var server: (any PacketServer)? {
        let (server, asksForKeyframe) = state.withLock { lanes -> ((any PacketServer)?, Bool) in
            guard lanes.isLive else { return (nil, false) }
            let needs = lanes.packets.needsKeyframe && (lanes.patience == 0 || clock.now >= lanes.patience)
            defer { lanes.hasAskedForKeyframe = needs }
            return (lanes.current?.attempt.server, needs && !lanes.hasAskedForKeyframe)
        }
        if asksForKeyframe { keyframes.requestKeyframe(at: nil) }
        return server
    }

    public func finish(deadline: Int64, completion: @escaping @Sendable () -> Void) {
        finish(deadline: deadline, reason: .interrupted, completion: completion)
    }

    /// No packet follows, for this reason: ends cleanly by `deadline` (monotonic nanoseconds), then calls `completion`
    /// once, on any thread.
    public func finish(deadline: Int64, reason: EndReason, completion: @escaping @Sendable () -> Void) {
        state.withLock { lanes in
            lanes.completions.append(completion)
            lanes.endReason = reason
        }
        post(.finish(deadline: deadline))
    }

    public func stop() { post(.stop) }

    /// What an operator sees of the output now.
    public var status: OutputStatus {
        // A copy, because the publishing thread needs the lock, and attempts take their time to compute.
        let lanes = state.withLock { $0 }
        let machine = lanes.machine
        let target = lanes.current?.target ?? target(at: machine.endpoint, lanes)
        var status = OutputStatus(
            name: name, kind: target.kind, address: target.displayAddress, state: machine.state.label, detail: nil,
            liveSeconds: 0, bytes: lanes.bytes, frames: lanes.frames, reconnects: max(0, machine.connections - 1),
            attempts: machine.attempts, queue: lanes.queueStatus,
            details: lanes.current?.attempt.progress.details ?? [:], wasLive: machine.connections > 0,
            endpoint: machine.endpoint)
        switch machine.state {
        case .connecting:
            status.detail = [lanes.current?.step, machine.lastFailure?.description].compactMap(\.self).first
        case .live(let since): status.liveSeconds = Double(clock.now - since) / 1e9
        case .backingOff(_, let cause), .refused(_, let cause), .givenUp(let cause): status.detail = cause.description
        case .paused: break
        default: status.detail = machine.lastFailure?.description
        }
        return status
    }

    /// The target of attempts at `endpoint`.
    func target(at endpoint: OutputEndpoint, _ lanes: OutputLanes) -> any OutputTarget {
        switch endpoint {
        case .primary: primary
        case .backup: backup ?? primary
        case .redirected: lanes.redirection ?? primary
        }
    }
}
