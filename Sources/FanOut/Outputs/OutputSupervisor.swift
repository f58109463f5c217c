// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import Logging
package import Media
internal import Synchronization

/// Owns one live output for the output's whole life: its packet queue, its state and its attempts.
///
/// The state machine runs on a serial dispatch queue on which no work blocks; only the change to a candidate happens on
/// the publishing thread. Attempts do blocking work on queues of their own. Methods may be called on any thread.
package final class OutputSupervisor: PacketConsumer {
    let state: Mutex<OutputAttempts>
    /// The target queue of the dispatch queues of all outputs. It keeps hundreds of outputs that start at once from
    /// using a thread each. This is safe, because no work on these queues blocks.
    package static let shared = DispatchQueue(label: "relay.outputs")

    /// The output's name, unique in its channel.
    package let name: String
    /// The rendition that the output sends; nil for the program's main encoding.
    let rendition: String?

    let primary: any OutputTarget
    let backup: (any OutputTarget)?
    /// Returns the stream's current tracks and codecs.
    let description: @Sendable () -> StreamDescription
    let leading: TrackKind
    let limits: QueueLimits
    let origin: OutputOrigin
    let keyframes: any KeyframeRequester
    let clock: any MonotonicClock
    let timers: any OutputTimers
    /// Returns a random number in 0..<1 that varies the waits between attempts.
    let jitter: @Sendable () -> Double
    let logger: Logger
    let queue: DispatchQueue

    /// Creates an output that is not started yet. `joinsRunningProgram` means that the program already runs, so that
    /// the output begins at a keyframe and not with the program's first frame. `retry` says when `backup` is used.
    /// `description` is evaluated for each attempt, on any thread.
    package init(
        name: String, rendition: String? = nil, target: any OutputTarget, backup: (any OutputTarget)? = nil,
        description: @autoclosure @escaping @Sendable () -> StreamDescription,
        limits: QueueLimits = .live, retry: RetryPolicy = RetryPolicy(), origin: OutputOrigin = .flags,
        joinsRunningProgram: Bool = false,
        keyframes: any KeyframeRequester, clock: any MonotonicClock = SystemClock(),
        timers: any OutputTimers = SystemTimers(), jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger
    ) {
        (self.name, self.rendition) = (name, rendition)
        primary = target
        self.backup = backup
        self.description = description
        leading = description().leadingKind
        self.limits = limits
        self.origin = origin
        self.keyframes = keyframes
        self.clock = clock
        self.timers = timers
        self.jitter = jitter
        var logger = logger
        logger[metadataKey: "output"] = "\(name)"
        self.logger = logger
        queue = DispatchQueue(label: "relay.output.\(name)", target: Self.shared)
        var policy = retry
        policy.hasBackup = backup != nil
        state = Mutex(
            OutputAttempts(
                machine: OutputStateMachine(policy: policy),
                packets: PacketQueue(
                    limits: limits, isFromStart: !joinsRunningProgram, awaitsCallers: target.awaitsCallers,
                    leading: leading, clock: clock)))
    }

    private var targets: [any OutputTarget] { [primary, backup].compactMap(\.self) }

    /// Whether `next` must wait for this output, which was removed, because both need the same port or directory
    /// according to their addresses.
    func delays(_ next: OutputSupervisor) -> Bool {
        delays(places: next.targets.compactMap(\.place), from: targets.compactMap(\.place))
    }

    /// Whether an output at the places `next` must wait for this output, which was removed and is at the places `own`.
    func delays(places next: [OutputPlace], from own: [OutputPlace]) -> Bool {
        let hasStopped = state.withLock { $0.whenNotListening != nil && $0.hasStoppedListening }
        return own.contains { place in next.contains { place.excludes($0, hasStoppedListening: hasStopped) } }
    }

    /// Whether this output and `next` can need the same directory although their addresses name two.
    func canShareDirectory(with next: OutputSupervisor) -> Bool {
        targets.contains(where: \.hasRealPlace) && next.targets.contains(where: \.hasRealPlace)
    }

    /// The directories that the output needs. Blocks on the disk for at most 3 s for each.
    var realPlaces: [OutputPlace] { targets.compactMap(\.realPlace) }

    /// Closes the resources that the targets hold open for later attempts, because the output was removed. Calls
    /// `freed` on any thread when the listening socket is closed. ``finish(deadline:completion:)`` must follow.
    func leave(freed: @escaping @Sendable () -> Void) {
        for target in targets { target.leave() }
        let hasStopped = state.withLock { lanes in
            lanes.whenNotListening = freed
            return lanes.hasStoppedListening
        }
        if hasStopped { freed() }
    }

    /// Starts the first attempt. Packets may be queued before this call.
    package func start() { post(.start) }

    /// Lets the output make its next attempt at once instead of later. While the output is on air at its backup, it
    /// probes the primary address at once.
    package func retryNow() { post(.retryNow) }

    /// Takes the output off air by the protocol's rules. It stays off air until ``resume()``.
    package func pause() { post(.pause(at: clock.now)) }

    /// Puts the output on air again after ``pause()``.
    package func resume() { post(.resume) }

    /// Waits until earlier calls have taken effect. This is quick, because no work on the dispatch queue blocks.
    func waitUntilDone() { queue.sync {} }

    @discardableResult
    package func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        var (change, event) = (OutputAttempts.Change?.none, DropLog.Event?.none)
        var missed: DropCounts?
        let (server, request) = state.withLock { lanes -> ((any PacketServer)?, Int?) in
            var (hasDrops, hasKeyframe) = (false, false)
            for packet in packets {
                let isKeyframe = packet.track == leading && packet.isKeyframe
                if isKeyframe {
                    hasKeyframe = true
                    lanes.keyframes.stopWaiting()
                    if case .live(_, .ready) = lanes.phase { change = lanes.change(at: clock.now) }
                }
                guard lanes.isFed else { continue }
                let isQueued = lanes.packets.push(packet) == .queued
                if isQueued, isKeyframe { missed = lanes.tookKeyframe() ?? missed }
                if !isQueued { hasDrops = true }
            }
            if hasDrops || hasKeyframe { event = lanes.noteDrops(at: clock.now) }
            // The queue refuses frames while it waits for a keyframe, so `needsKeyframe` must be read only after a
            // drop.
            if hasDrops, lanes.server != nil, lanes.packets.needsKeyframe {
                lanes.keyframes.wait(from: clock.now, isUrgent: lanes.packets.standsStill)
            }
            let isDue = lanes.keyframes.isWaiting && lanes.keyframes.isRequestDue(at: clock.now)
            return (lanes.server, isDue ? lanes.keyframes.requests : nil)
        }
        if let change { complete(change) }
        log(missed: missed)
        log(event)
        if let request { ask(request) }
        return server
    }

    /// Requests a keyframe from the encoder. `number` is how many requests the output has made, this one included.
    func ask(_ number: Int, level: Logger.Level = .info) {
        keyframes.requestKeyframe(at: nil)
        logger.log(level: level, "asks for a keyframe", metadata: ["keyframes_requested": "\(number)"])
    }

    package func finish(deadline: MonotonicInstant, completion: @escaping @Sendable () -> Void) {
        finish(deadline: deadline, reason: .interrupted, completion: completion)
    }

    /// Ends the output cleanly because no packets follow, by `deadline` at the latest. `reason` says why. When the
    /// output has ended, `completion` is called once, on any thread.
    package func finish(deadline: MonotonicInstant, reason: EndReason, completion: @escaping @Sendable () -> Void) {
        state.withLock { lanes in
            lanes.completions.append(completion)
            // If the output was already asked to end, for example because it was removed, the reason that was given
            // then stays.
            lanes.end = lanes.end.deadline.map { (lanes.end.reason, min($0, deadline)) } ?? (reason, deadline)
        }
        post(.finish(deadline: deadline))
    }

    package func stop() { post(.stop) }

    /// The output's current status as operators see it.
    package var status: OutputStatus {
        // The state is copied under the lock, and the numbers are computed without the lock: attempts take time to
        // compute them, and the publishing thread must not wait that long.
        let lanes = state.withLock { $0 }
        let machine = lanes.machine
        let target = lanes.current?.target ?? target(at: machine.endpoint, lanes)
        var status = OutputStatus(
            name: name, kind: target.kind, address: target.displayAddress, state: machine.state.name, detail: nil,
            liveSeconds: 0, bytes: lanes.bytes, frames: lanes.frames, reconnects: max(0, machine.connections - 1),
            attempts: machine.attempts, queue: lanes.queueStatus,
            details: lanes.current?.attempt.progress.details ?? OutputDetails(), wasLive: machine.connections > 0,
            endpoint: machine.endpoint, keyframesRequested: lanes.keyframes.requests, origin: origin)
        status.queue.boundMilliseconds = limits.maximumDuration.inMilliseconds
        status.rendition = rendition
        status.roundTripSeconds = status.details.roundTripMilliseconds.map { $0 / 1000 }
        (status.cause, status.failures) = (machine.lastFailure?.kind, machine.record.failuresInRow)
        status.hint = machine.lastFailure?.hint
        switch machine.state {
        case .connecting(let attempt):
            status.attempt = attempt
            status.detail = [lanes.step, machine.lastFailure?.description].compactMap(\.self).first
        case .waiting: (status.detail, status.cause, status.hint) = (OutputState.waitingWords, nil, nil)
        case .live(let since):
            (status.liveSeconds, status.cause, status.hint) = ((clock.now - since).inSeconds, nil, nil)
        case .backingOff(let until, let cause), .refused(let until, let cause):
            status.detail = cause.description
            status.nextAttemptSeconds = max(0, (until - clock.now).inSeconds)
        case .givenUp(let cause): status.detail = cause.description
        case .paused: break
        default: status.detail = machine.lastFailure?.description
        }
        return status
    }

    /// The target that attempts at `endpoint` use.
    func target(at endpoint: OutputEndpoint, _ lanes: OutputAttempts) -> any OutputTarget {
        switch endpoint {
        case .primary: primary
        case .backup: backup ?? primary
        case .redirected: lanes.redirection ?? primary
        }
    }
}

/// Runs work after a wait. An implementation must use the same clock with which the outputs compute their waits.
package protocol OutputTimers: Sendable {
    /// Runs `work` on `queue` after `wait`, or as soon as possible if `wait` is not positive. May be called on any
    /// thread; returns at once.
    func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void)
}

/// Timers of Dispatch, to be used with ``SystemClock``.
package struct SystemTimers: OutputTimers {
    /// Creates timers of Dispatch.
    package init() {}

    package func after(_ wait: Duration, on queue: DispatchQueue, _ work: @escaping @Sendable () -> Void) {
        let nanoseconds = max(0, wait.inNanoseconds)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds)), execute: work)
    }
}
