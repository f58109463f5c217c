// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Media
internal import Synchronization

// These methods carry out the actions of the state machine.
extension OutputSupervisor {
    /// How long an attempt that was taken off air may take to send the rest of its queue. Then it is ended.
    private static let retirement = Duration.seconds(2)

    func post(_ event: OutputStateMachine.Event) {
        queue.async { self.handle(event) }
    }

    private func post(_ event: OutputStateMachine.Event, after wait: Duration) {
        timers.after(wait, on: queue) { [weak self] in self?.handle(event) }
    }

    private func handle(_ event: OutputStateMachine.Event) {
        let jitter = self.jitter()
        let actions = state.withLock { lanes in
            if event == .retryNow || event == .resume { lanes.failures.forgetSorts() }
            return lanes.machine.handle(event, jitter: jitter)
        }
        log(event, caused: actions)
        for action in actions { perform(action) }
    }

    private func perform(_ action: OutputStateMachine.Action) {
        switch action {
        case .begin(let attempt, let endpoint): begin(attempt, at: endpoint)
        case .goLive: goLive()
        case .hold: log(state.withLock { $0.hold() })
        case .close: close()
        case .open: state.withLock { $0.open() }
        case .drain(_, let deadline):
            let (attempt, reason) = state.withLock { ($0.current?.attempt, $0.end.reason) }
            attempt?.drain(until: deadline, reason: reason)
        case .retire(let attempt): if let lane = state.withLock({ $0.retire(attempt) }) { retire(lane) }
        case .abandon(let attempt): state.withLock { $0.remove(attempt) }?.attempt.abandon()
        case .promote: log(state.withLock { $0.promote() })
        case .handOver: state.withLock { $0.arrangeChange(at: clock.now) }
        case .wait(let until, let attempt):
            post(.retryDue(attempt: attempt), after: until - clock.now)
        case .probe(let wait, let number): post(.primaryDue(probe: number), after: wait)
        case .watch(let deadline): post(.deadlinePassed, after: deadline - clock.now)
        case .ended: ended()
        }
    }

    /// Creates an empty packet queue that begins at the next keyframe.
    private func makeQueue() -> PacketQueue {
        PacketQueue(limits: limits, isFromStart: false, leading: leading, clock: clock)
    }

    private func begin(_ number: Int, at endpoint: OutputEndpoint) {
        let (target, packets) = state.withLock { lanes -> (any OutputTarget, PacketQueue) in
            let isCandidate = lanes.machine.candidate?.attempt == number
            let packets = isCandidate ? makeQueue() : lanes.packets
            return (self.target(at: endpoint, lanes), packets)
        }
        let stream = description()
        if let reason = target.carriage.refusal(of: stream) {
            // The attempt is refused. In passthrough, the input can change in mid-stream to a codec that this target
            // cannot carry.
            let failure = OutputFailure(.refused, step: "publish", reason: reason)
            return post(.failed(attempt: number, failure, at: clock.now))
        }
        // The attempt's closure retains this output until the attempt ends. A weak reference would make each retain of
        // the output several times as slow, and every packet causes such retains.
        let attempt = target.makeAttempt(queue: packets, description: stream) { event in
            self.receive(event, from: number)
        }
        let lane = OutputLane(attempt: attempt, number: number, target: target, endpoint: endpoint, packets: packets)
        if state.withLock({ $0.begin(lane) }) { attempt.start() } else { attempt.abandon() }
    }

    private func goLive() {
        let now = clock.now
        guard let (lane, missed) = state.withLock({ $0.goLive(at: now) }) else { return }
        logOnAir(lane, now, level: .info)
        log(missed: missed)
        lane.attempt.goLive()
    }

    private func close() {
        let packets = makeQueue()
        log(state.withLock { $0.pause(with: packets) })
    }

    /// Completes the change from one attempt to the next: lets the old attempt send the rest of its queue, and logs
    /// that the new attempt is on air. Called on the publishing thread at the keyframe with which the new attempt
    /// begins.
    func complete(_ change: OutputAttempts.Change) {
        retire(change.retired)
        queue.async { for action in change.actions { self.perform(action) } }
        logOnAir(change.next, clock.now, level: .notice)
    }

    private func retire(_ lane: OutputLane) {
        lane.attempt.drain(until: clock.now + Self.retirement, reason: .interrupted)
        timers.after(Self.retirement, on: queue) { [weak self] in self?.finishLane(lane.number) }
    }

    /// Removes the attempt `number` if it was taken off air and still sends the rest of its queue. Returns whether the
    /// attempt was removed.
    @discardableResult
    private func finishLane(_ number: Int) -> Bool {
        let lane = state.withLock { lanes -> OutputLane? in
            lanes.retired.contains { $0.number == number } ? lanes.remove(number) : nil
        }
        lane?.attempt.abandon()
        if lane != nil { completeIfOver() }
        return lane != nil
    }

    private func ended() {
        let (event, wait, targets) = state.withLock { lanes -> (DropLog.Event?, Duration, [any OutputTarget]) in
            // The state machine returns the action `ended` again if it is told twice to end, but the output must end
            // only once.
            if case .ended = lanes.phase { return (nil, .zero, []) }
            let wait = lanes.end.deadline.map { $0 - clock.now } ?? .zero
            let isConcluded = lanes.end.reason == .programOver && wait > .zero
            let targets = [OutputEndpoint.primary, .backup].filter { isConcluded && lanes.aired.contains($0) }
                .map { target(at: $0, lanes) }
            lanes.concluding += targets.count
            return (lanes.close(), wait, targets)
        }
        log(event)
        guard !targets.isEmpty else { return completeIfOver() }
        timers.after(wait, on: queue) { [weak self] in self?.concluded { $0 = 0 } }
        for target in targets {
            target.conclude { failure in
                if let failure { self.logger.warning("\(failure)", metadata: ["cause": "\(failure.kind.rawValue)"]) }
                self.queue.async { self.concluded { $0 -= 1 } }
            }
        }
    }

    private func concluded(_ count: (inout Int) -> Void) {
        state.withLock { count(&$0.concluding) }
        completeIfOver()
    }

    /// Calls the completions if the output is over: its state machine has ended, no earlier attempt still sends its
    /// queue, and all targets have concluded.
    private func completeIfOver() {
        let completions = state.withLock { lanes -> [@Sendable () -> Void] in
            guard case .ended = lanes.phase, lanes.retired.isEmpty, lanes.concluding <= 0 else { return [] }
            defer { lanes.completions = [] }
            return lanes.completions
        }
        for completion in completions { completion() }
    }

    private func receive(_ event: AttemptEvent, from number: Int) {
        switch event {
        case .step(let step):
            state.withLock { $0.note(step: step, of: number) }
        case .notice(let text): logger.info("\(text)")
        case .wantsKeyframe: state.withLock { $0.keyframes.wait(from: clock.now) }
        case .needsKeyframe: state.withLock { $0.keyframes.wait(from: clock.now, isUrgent: true) }
        case .wantsNoKeyframe: state.withLock { $0.stopWaiting(number) }
        case .keyframeIsDue:
            let number = state.withLock { lanes in
                lanes.keyframes.countRequest()
                return lanes.keyframes.requests
            }
            // This keyframe request is logged at debug level only: an HLS output makes one for each segment if the GOP
            // is longer than a segment.
            ask(number, level: .debug)
        case .reconnectRequested(let address): redirect(to: address, from: number)
        case .accepted: post(.accepted(attempt: number, at: clock.now))
        case .awaitsCallers: post(.awaitsCallers(attempt: number))
        case .stoppedListening: state.withLock { $0.stoppedListening(number) }?()
        case .failed(let failure):
            let now = clock.now
            queue.async {
                if !self.finishLane(number) { self.handle(.failed(attempt: number, failure, at: now)) }
            }
        case .drained:
            queue.async {
                if !self.finishLane(number) { self.handle(.drained(attempt: number)) }
            }
        }
    }

    private func redirect(to address: String?, from number: Int) {
        let target = state.withLock { lanes -> (any OutputTarget)? in
            guard let lane = lanes.current, lane.number == number else { return nil }
            guard let target = address.map({ lane.target.redirected(to: $0) }) ?? lane.target else { return nil }
            lanes.redirection = target
            return target
        }
        guard let target else {
            logger.warning("the server redirects to an address that cannot be used; this is ignored")
            return
        }
        logger.notice("the server redirects to \(target.displayAddress)")
        post(.reconnectRequested(attempt: number, at: clock.now))
    }
}

// MARK: The log

extension OutputSupervisor {
    private func log(_ event: OutputStateMachine.Event, caused actions: [OutputStateMachine.Action]) {
        if case .awaitsCallers(let attempt) = event { return logWaiting(attempt) }
        guard !actions.isEmpty else { return }
        switch event {
        case .start where primary.awaitsCallers: break
        case .start: logger.info("connecting to \(primary.displayAddress)")
        case .failed(let attempt, let failure, let now): logFailure(failure, of: attempt, at: now)
        case .deadlinePassed: logger.warning("did not end cleanly in time")
        case .pause: logger.notice("paused")
        case .resume: logger.notice("resumed")
        default: break
        }
    }

    /// Logs that the attempt waits for receivers, once per attempt. The attempt itself logs when receivers connect and
    /// leave.
    private func logWaiting(_ attempt: Int) {
        let lane = state.withLock { lanes -> OutputLane? in
            guard case .connecting(let lane, _) = lanes.phase, lane.number == attempt else { return nil }
            return lane
        }
        guard let lane else { return }
        logger.info("\(OutputState.waitingWords) at \(lane.target.displayAddress)")
    }

    func log(_ event: DropLog.Event?) {
        switch event {
        case nil: break
        case .began(let drops):
            logger.warning("the target takes less than the program makes: frames are dropped", metadata: drops.metadata)
        case .over(let drops): logger.notice("no frame is dropped any more", metadata: drops.metadata)
        case .cut(let drops): logger.notice("went off air while frames were dropped", metadata: drops.metadata)
        }
    }

    func log(missed: DropCounts?) {
        guard let missed, missed.packets > 0 else { return }
        logger.notice("frames were missed off air", metadata: missed.metadata)
    }

    private func logFailure(_ failure: OutputFailure, of attempt: Int, at now: MonotonicInstant) {
        let (line, state) = state.withLock { lanes in
            (lanes.failures.note(failure, of: attempt, at: now), lanes.machine.state)
        }
        var metadata: Logger.Metadata = ["attempt": "\(attempt)", "cause": "\(failure.kind.rawValue)"]
        if case .summed(let failures) = line { metadata["failures"] = "\(failures)" }
        logger.log(level: line == .counted ? .debug : .warning, "\(failure)", metadata: metadata)
        if case .givenUp = state {
            logger.error("given up; nothing is tried until asked for", metadata: ["attempts": "\(attempt)"])
        }
    }

    private func logOnAir(_ lane: OutputLane, _ now: MonotonicInstant, level: Logger.Level) {
        let failures = state.withLock { $0.failures.accepted(lane.number, at: now) }
        var metadata: Logger.Metadata = ["attempt": "\(lane.number)"]
        if failures > 0 { metadata["failures"] = "\(failures)" }
        logger.log(level: level, "on air at \(lane.target.displayAddress)", metadata: metadata)
    }
}

extension DropCounts {
    fileprivate var metadata: Logger.Metadata { ["dropped_frames": "\(frames)", "dropped_packets": "\(summary)"] }
}
