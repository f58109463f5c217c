// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Media
internal import Synchronization

// What the state machine asks for.
extension OutputSupervisor {
    /// How long an attempt that was replaced may take to send its rest.
    private static let retirement = Duration.seconds(2)

    func post(_ event: OutputStateMachine.Event) {
        queue.async { self.handle(event) }
    }

    private func post(_ event: OutputStateMachine.Event, after wait: Duration) {
        let nanoseconds = max(0, wait.inNanoseconds)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { [weak self] in self?.handle(event) }
    }

    private func handle(_ event: OutputStateMachine.Event) {
        let jitter = Double.random(in: 0..<1)
        let actions = state.withLock { $0.machine.handle(event, jitter: jitter) }
        log(event, caused: actions)
        for action in actions { perform(action) }
    }

    private func perform(_ action: OutputStateMachine.Action) {
        switch action {
        case .begin(let attempt, let endpoint): begin(attempt, at: endpoint)
        case .goLive: goLive()
        case .hold: hold()
        case .close: close()
        case .open: open()
        case .drain(_, let deadline):
            let (attempt, reason) = state.withLock { ($0.current?.attempt, $0.endReason) }
            attempt?.drain(until: deadline, reason: reason)
        case .retire(let attempt): retire(attempt)
        case .abandon(let attempt): state.withLock { $0.remove(attempt) }?.attempt.abandon()
        case .promote: promote()
        case .handOver: handOver()
        case .wait(let until, let attempt):
            post(.retryDue(attempt: attempt), after: .nanoseconds(until - clock.now))
        case .look(let wait, let number): post(.primaryDue(look: number), after: wait)
        case .watch(let deadline): post(.deadlinePassed, after: .nanoseconds(deadline - clock.now))
        case .ended: ended()
        }
    }

    private func begin(_ number: Int, at endpoint: OutputEndpoint) {
        let (target, packets, isCandidate) = state.withLock { lanes -> (any OutputTarget, PacketQueue, Bool) in
            let isCandidate = lanes.machine.candidate?.attempt == number
            let packets = isCandidate ? PacketQueue(limits: limits, isFromStart: false) : lanes.packets
            return (self.target(at: endpoint, lanes), packets, isCandidate)
        }
        // The attempt holds the output until it is let go of, at its end: a weak reference would make every retain of the
        // output, on each packet's way, several times as slow.
        let attempt = target.makeAttempt(queue: packets, description: description) { event in
            self.receive(event, from: number)
        }
        state.withLock { lanes in
            let lane = OutputLanes.Lane(attempt: attempt, number: number, target: target, packets: packets)
            if isCandidate { lanes.candidate = lane } else { lanes.current = lane }
        }
        attempt.start()
    }

    private func goLive() {
        let (attempt, missed) = state.withLock { lanes -> ((any OutputAttempt)?, DropCounts?) in
            if !lanes.packets.connected() { lanes.keyframes.wait(from: clock.now) }
            lanes.isLive = true
            lanes.current?.step = nil
            let drops = lanes.queueDrops
            lanes.episode.begin(from: drops)
            defer { lanes.dropsAtLoss = nil }
            return (lanes.current?.attempt, lanes.dropsAtLoss.map { drops.since($0) })
        }
        if let missed, missed.packets > 0 { logger.notice("frames were missed off air", metadata: missed.metadata) }
        attempt?.goLive()
    }

    private func hold() {
        let episode = state.withLock { lanes in
            lanes.isLive = false
            lanes.keyframes.stopWaiting()
            let drops = lanes.queueDrops
            if lanes.machine.connections > 0 { lanes.dropsAtLoss = lanes.dropsAtLoss ?? drops }
            lanes.packets.disconnected()
            return lanes.episode.end(drops)
        }
        if let episode { log(episode) }
    }

    private func close() {
        let packets = PacketQueue(limits: limits, isFromStart: false)
        let episode = state.withLock { lanes in
            lanes.isClosed = true
            lanes.keyframes.stopWaiting()
            let episode = lanes.episode.end(lanes.queueDrops)
            lanes.replaceQueue(by: packets)
            return episode
        }
        if let episode { log(episode) }
    }

    private func open() {
        state.withLock { $0.isClosed = false }
    }

    /// The next keyframe is waited for, and asked for when it is long in coming.
    private func handOver() {
        state.withLock { lanes in
            guard lanes.candidate != nil else { return }
            lanes.isChanging = true
            lanes.keyframes.wait(from: clock.now)
        }
    }

    private func promote() {
        state.withLock { lanes in
            guard let next = lanes.candidate else { return }
            (lanes.current, lanes.candidate) = (next, nil)
            lanes.isChanging = false
            lanes.isLive = false
            lanes.replaceQueue(by: next.packets)
            lanes.packets.joined()
        }
    }

    /// Called by the publishing thread, at the keyframe from which the new lane is fed.
    func complete(_ change: OutputLanes.Change) {
        change.next.attempt.goLive()
        if let retired = change.retired { retire(retired) }
        queue.async { for action in change.actions { self.perform(action) } }
        logger.notice("on air at \(change.next.target.displayAddress)", metadata: ["attempt": "\(change.next.number)"])
    }

    /// Lets the attempt on air end beside what follows.
    private func retire(_ number: Int) {
        let lane = state.withLock { lanes -> OutputLanes.Lane? in
            guard let lane = lanes.current, lane.number == number else { return nil }
            lanes.current = nil
            lanes.isLive = false
            lanes.retired.append(lane)
            return lane
        }
        if let lane { retire(lane) }
    }

    private func retire(_ lane: OutputLanes.Lane) {
        lane.attempt.drain(until: clock.now + Self.retirement.inNanoseconds, reason: .interrupted)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(Self.retirement.inNanoseconds))) { [weak self] in
            self?.finishLane(lane.number)
        }
    }

    /// Forgets a retired attempt. Returns whether there was one.
    @discardableResult
    private func finishLane(_ number: Int) -> Bool {
        let lane = state.withLock { lanes -> OutputLanes.Lane? in
            lanes.retired.contains { $0.number == number } ? lanes.remove(number) : nil
        }
        lane?.attempt.abandon()
        if lane != nil { completeIfOver() }
        return lane != nil
    }

    private func ended() {
        let episode = state.withLock { lanes in
            lanes.isEnded = true
            return lanes.episode.end(lanes.queueDrops)
        }
        if let episode { log(episode) }
        completeIfOver()
    }

    /// The output is over when its machine is, and whoever was replaced has said goodbye.
    private func completeIfOver() {
        let completions = state.withLock { lanes -> [@Sendable () -> Void] in
            guard lanes.isEnded, lanes.retired.isEmpty else { return [] }
            defer { lanes.completions = [] }
            return lanes.completions
        }
        for completion in completions { completion() }
    }

    private func receive(_ event: AttemptEvent, from number: Int) {
        switch event {
        case .step(let step):
            state.withLock { lanes in
                if lanes.current?.number == number { lanes.current?.step = step }
            }
        case .notice(let text): logger.info("\(text)")
        case .wantsKeyframe: state.withLock { $0.keyframes.wait(from: clock.now) }
        case .keyframeIsDue:
            let number = state.withLock { lanes in
                lanes.keyframes.countRequest()
                return lanes.keyframes.requests
            }
            // Once for each segment, when the GOP is longer than a segment.
            ask(number, level: .debug)
        case .reconnectRequested(let address): redirect(to: address, from: number)
        case .accepted: post(.accepted(attempt: number, at: clock.now))
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
            logger.warning("the server asks to publish anew at an address that is no use; it is ignored")
            return
        }
        logger.notice("the server asks to publish anew at \(target.displayAddress)")
        post(.reconnectRequested(attempt: number, at: clock.now))
    }
}

// MARK: The log

extension OutputSupervisor {
    private func log(_ event: OutputStateMachine.Event, caused actions: [OutputStateMachine.Action]) {
        guard !actions.isEmpty else { return }
        switch event {
        case .start: logger.info("connecting to \(primary.displayAddress)")
        case .accepted(let attempt, _):
            // A candidate's is named when it takes over.
            guard let target = state.withLock({ $0.current?.number == attempt ? $0.current?.target : nil }) else {
                return
            }
            logger.info("on air at \(target.displayAddress)", metadata: ["attempt": "\(attempt)"])
        case .failed(let attempt, let failure, _): logFailure(failure, of: attempt, actions)
        case .deadlinePassed: logger.warning("did not end cleanly in time")
        case .pause: logger.notice("paused")
        case .resume: logger.notice("resumed")
        default: break
        }
    }

    func log(_ episode: DropEpisode.Event) {
        switch episode {
        case .began(let drops):
            logger.warning(
                "the target takes less than the program makes: frames are dropped", metadata: drops.metadata)
        case .over(let drops): logger.notice("no frame is dropped any more", metadata: drops.metadata)
        }
    }

    /// A target that stays away is named at its first failures and then ever more rarely, never once a second for weeks; a
    /// loss of air and a failure of another sort always are.
    private func logFailure(
        _ failure: OutputFailure, of attempt: Int, _ actions: [OutputStateMachine.Action]
    ) {
        let (isNamed, state) = state.withLock { lanes -> (Bool, OutputState) in
            let isSame = lanes.lastLogged.map { $0.kind == failure.kind && $0.step == failure.step } ?? false
            lanes.repeats = isSame ? lanes.repeats + 1 : 1
            lanes.lastLogged = failure
            let isNamed = failure.kind == .lost || lanes.repeats < 4 || lanes.repeats.nonzeroBitCount == 1
            return (isNamed, lanes.machine.state)
        }
        logger.log(
            level: isNamed ? .warning : .debug, "\(failure)",
            metadata: ["attempt": "\(attempt)", "cause": "\(failure.kind.rawValue)"])
        if case .givenUp = state {
            logger.error("given up; nothing is tried until asked for", metadata: ["attempts": "\(attempt)"])
        }
    }
}

extension DropCounts {
    fileprivate var metadata: Logger.Metadata { ["dropped_frames": "\(frames)", "dropped_packets": "\(summary)"] }
}
