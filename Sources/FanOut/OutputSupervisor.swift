// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import Logging
public import Media
internal import Synchronization

/// The lasting owner of one live output: its queue, its state and whichever attempt is under way.
///
/// Its own serial queue runs the state machine and never blocks; whatever can block is the attempt's business.
public final class OutputSupervisor: PacketConsumer {
    private struct State {
        var machine: OutputStateMachine
        var attempt: (any OutputAttempt)?
        var isLive = false
        var step: String?
        var finished = AttemptProgress()
        var hasAskedForKeyframe = false
        var lastLogged: OutputFailure?
        var repeats = 0
        var completions: [@Sendable () -> Void] = []
    }

    /// The output's name, unique in its channel.
    public let name: String

    private let target: any OutputTarget
    private let description: StreamDescription
    private let packets: PacketQueue
    private let keyframes: any KeyframeRequester
    private let clock: any MonotonicClock
    private let logger: Logger
    private let queue: DispatchQueue
    private let state: Mutex<State>
    private let isDropping = Atomic(false)

    /// An output that is not started yet.
    public init(
        name: String, target: any OutputTarget, description: StreamDescription, limits: QueueLimits = .live,
        backoff: Backoff = Backoff(), keyframes: any KeyframeRequester, clock: any MonotonicClock = SystemClock(),
        logger: Logger
    ) {
        self.name = name
        self.target = target
        self.description = description
        self.keyframes = keyframes
        self.clock = clock
        var logger = logger
        logger[metadataKey: "output"] = "\(name)"
        self.logger = logger
        packets = PacketQueue(limits: limits)
        queue = DispatchQueue(label: "relay.output.\(name)")
        state = Mutex(State(machine: OutputStateMachine(backoff: backoff)))
    }

    /// Begins the first attempt. Packets may be queued before.
    public func start() { post(.start) }

    public func accept(_ packet: EncodedPacket) {
        switch packets.push(packet) {
        case .queued:
            guard packet.track == .video, packet.isKeyframe else { return }
            if isDropping.exchange(false, ordering: .relaxed) {
                logger.notice("pictures are queued again", metadata: ["dropped": "\(packets.status.droppedFrames)"])
            }
        case .dropped(let cause) where cause == .disposable || cause == .congestion:
            if !isDropping.exchange(true, ordering: .relaxed) {
                logger.warning(
                    "the target takes less than the program makes: pictures are dropped",
                    metadata: ["cause": "\(cause.rawValue)", "queue_ms": "\(packets.status.milliseconds)"])
            }
        case .dropped:
            return
        }
    }

    public func wake() {
        let (attempt, asksForKeyframe) = state.withLock { state -> ((any OutputAttempt)?, Bool) in
            guard state.isLive else { return (nil, false) }
            let needs = packets.needsKeyframe
            defer { state.hasAskedForKeyframe = needs }
            return (state.attempt, needs && !state.hasAskedForKeyframe)
        }
        if asksForKeyframe { keyframes.requestKeyframe(at: nil) }
        attempt?.wake()
    }

    public func finish(deadline: Int64, completion: @escaping @Sendable () -> Void) {
        state.withLock { $0.completions.append(completion) }
        post(.finish(deadline: deadline))
    }

    public func stop() { post(.stop) }

    /// What an operator sees of the output now.
    public var status: OutputStatus {
        let queueStatus = packets.status
        return state.withLock { state in
            let machine = state.machine
            let progress = state.attempt?.progress ?? AttemptProgress()
            var status = OutputStatus(
                name: name, kind: target.kind, address: target.displayAddress, state: machine.state.label,
                detail: nil, liveSeconds: 0, bytes: state.finished.bytes + progress.bytes,
                frames: state.finished.frames + progress.frames, reconnects: max(0, machine.connections - 1),
                attempts: machine.attempts, queue: queueStatus, details: progress.details,
                wasLive: machine.connections > 0)
            switch machine.state {
            case .connecting: status.detail = [state.step, machine.lastFailure?.description].compactMap(\.self).first
            case .live(let since): status.liveSeconds = Double(clock.now - since) / 1e9
            case .backingOff(_, let cause), .refused(_, let cause): status.detail = cause.description
            default: status.detail = machine.lastFailure?.description
            }
            return status
        }
    }

    // MARK: The state machine's servant

    private func post(_ event: OutputStateMachine.Event) {
        queue.async { self.handle(event) }
    }

    private func post(_ event: OutputStateMachine.Event, at time: Int64) {
        let wait = max(0, time - clock.now)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait))) { self.handle(event) }
    }

    private func handle(_ event: OutputStateMachine.Event) {
        let jitter = Double.random(in: 0..<1)
        let actions = state.withLock { $0.machine.handle(event, jitter: jitter) }
        log(event, caused: actions)
        for action in actions { perform(action) }
    }

    private func perform(_ action: OutputStateMachine.Action) {
        switch action {
        case .begin(let attempt): begin(attempt)
        case .goLive: goLive()
        case .hold:
            state.withLock { $0.isLive = false }
            packets.disconnected()
        case .drain(_, let deadline): state.withLock { $0.attempt }?.drain(until: deadline)
        case .abandon: abandon()
        case .wait(let until, let attempt): post(.retryDue(attempt: attempt), at: until)
        case .watch(let deadline): post(.deadlinePassed, at: deadline)
        case .ended:
            let completions = state.withLock { state in
                defer { state.completions = [] }
                return state.completions
            }
            for completion in completions { completion() }
        }
    }

    private func begin(_ number: Int) {
        let attempt = target.makeAttempt(queue: packets, description: description) { [weak self] event in
            self?.receive(event, from: number)
        }
        state.withLock { state in
            state.attempt = attempt
            state.step = nil
        }
        attempt.start()
    }

    private func goLive() {
        let beginsWithKeyframe = packets.connected()
        let attempt = state.withLock { state in
            state.isLive = true
            state.step = nil
            return state.attempt
        }
        if !beginsWithKeyframe { keyframes.requestKeyframe(at: nil) }
        attempt?.goLive()
    }

    private func abandon() {
        let attempt = state.withLock { state in
            defer { state.attempt = nil }
            state.isLive = false
            if let progress = state.attempt?.progress {
                state.finished.bytes += progress.bytes
                state.finished.frames += progress.frames
            }
            return state.attempt
        }
        attempt?.abandon()
    }

    private func receive(_ event: AttemptEvent, from attempt: Int) {
        switch event {
        case .step(let step):
            state.withLock { state in
                if state.machine.attempts == attempt { state.step = step }
            }
        case .notice(let text): logger.info("server says: \(text)")
        case .wantsKeyframe: keyframes.requestKeyframe(at: nil)
        case .reconnectRequested: logger.notice("the server asks to publish anew")
        case .accepted: post(.accepted(attempt: attempt, at: clock.now))
        case .failed(let failure): post(.failed(attempt: attempt, failure, at: clock.now))
        case .drained: post(.drained(attempt: attempt))
        }
    }

    private func log(_ event: OutputStateMachine.Event, caused actions: [OutputStateMachine.Action]) {
        guard !actions.isEmpty else { return }
        switch event {
        case .start: logger.info("connecting to \(target.displayAddress)")
        case .accepted(let attempt, _):
            logger.info("on air at \(target.displayAddress)", metadata: ["attempt": "\(attempt)"])
        case .failed(let attempt, let failure, _): logFailure(failure, of: attempt)
        case .deadlinePassed: logger.warning("did not end cleanly in time")
        default: break
        }
    }

    /// A target that stays away is named at its first failures and then ever more rarely, never once a second for weeks; a
    /// loss of air and a failure of another sort always are.
    private func logFailure(_ failure: OutputFailure, of attempt: Int) {
        let isNamed = state.withLock { state in
            let isSame = state.lastLogged.map { $0.kind == failure.kind && $0.step == failure.step } ?? false
            state.repeats = isSame ? state.repeats + 1 : 1
            state.lastLogged = failure
            return failure.kind == .lost || state.repeats < 4 || state.repeats.nonzeroBitCount == 1
        }
        logger.log(
            level: isNamed ? .warning : .debug, "\(failure)",
            metadata: ["attempt": "\(attempt)", "cause": "\(failure.kind.rawValue)"])
    }
}
