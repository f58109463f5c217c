// SPDX-License-Identifier: Apache-2.0

package import Media

/// The state machine of one output. It handles events and returns actions for its owner. It does no I/O and reads no
/// clock.
///
/// Each attempt has a number. Events of an attempt that is over, or of its timer, are ignored, so late callbacks do no
/// harm.
///
/// Transitions: `idle → connecting → live → draining → stopped`. A failure leads from `connecting`, `waiting` or `live`
/// to `backingOff`, `refused` or `givenUp`. When the wait has passed, or when an operator asks for a retry, the output
/// returns to `connecting`. `pause` leads to `paused`, and `resume` leads from `paused` to `connecting`. `finish` leads
/// to `draining` or `stopped`. `stop` leads from any state to `stopped`. An output that listens is `waiting` while no
/// receiver is connected.
///
/// While an output is live, a second attempt at another address may run, called the *candidate*. Its address is the one
/// to which the server redirects the output, or the primary address while the output is on air at its backup. The
/// candidate takes over at a keyframe, or is removed.
package struct OutputStateMachine: Sendable {
    /// An event that the state machine handles.
    package enum Event: Sendable, Equatable {
        /// The output must start.
        case start
        /// The peer of this attempt accepted the stream.
        case accepted(attempt: Int, at: MonotonicInstant)
        /// The attempt listens, but no receiver is connected.
        case awaitsCallers(attempt: Int)
        /// The attempt failed and has ended.
        case failed(attempt: Int, OutputFailure, at: MonotonicInstant)
        /// The wait before the next attempt is over, and the attempt with this number must begin.
        case retryDue(attempt: Int)
        /// The server asks the output to publish again at another address. The owner has checked that the output can
        /// use this address.
        case reconnectRequested(attempt: Int, at: MonotonicInstant)
        /// The primary address must be probed now, unless another probe was scheduled after the one with this number.
        case primaryDue(probe: Int)
        /// At a keyframe, the candidate with this attempt number replaced the attempt on air: the candidate gets all
        /// new packets from now on.
        case handedOver(attempt: Int, at: MonotonicInstant)
        /// An operator asks the output to try at once.
        case retryNow
        /// An operator takes the output off air.
        case pause(at: MonotonicInstant)
        /// An operator puts the output on air again.
        case resume
        /// The program is over or the output was removed, and the output must end cleanly by `deadline`.
        case finish(deadline: MonotonicInstant)
        /// The attempt has sent all queued packets and closed its session.
        case drained(attempt: Int)
        /// The deadline of `finish` has passed.
        case deadlinePassed
        /// The output must end at once, without a clean end.
        case stop
    }

    /// An action that the owner of the state machine must carry out.
    package enum Action: Sendable, Equatable {
        /// Create an attempt with this number at this address, and start it.
        case begin(attempt: Int, at: OutputEndpoint)
        /// Put the attempt on air: the attempt may read its queue.
        case goLive(attempt: Int)
        /// Tell the packet queue that the output is off air.
        case hold
        /// Stop accepting packets, and discard the packets that no attempt will send.
        case close
        /// Accept packets again, after `close`.
        case open
        /// Let the attempt send the queued packets and close its session by `deadline`.
        case drain(attempt: Int, deadline: MonotonicInstant)
        /// Let the attempt send the rest of its queue and close its session while the next attempt already runs.
        case retire(attempt: Int)
        /// End the attempt at once, without a clean end, and remove it.
        case abandon(attempt: Int)
        /// Make this candidate the output's only attempt, because the attempt on air has failed.
        case promote(attempt: Int)
        /// From the next keyframe on, give new packets to this candidate, and let the attempt that was on air send the
        /// rest of its queue. Send the event `handedOver` at that keyframe.
        case handOver(to: Int)
        /// Send the event `retryDue(attempt)` at the time `until`.
        case wait(until: MonotonicInstant, attempt: Int)
        /// Send the event `primaryDue(probe:)` with this number when the time `after` has passed.
        case probe(after: Duration, number: Int)
        /// Send the event `deadlinePassed` at the time `deadline`.
        case watch(deadline: MonotonicInstant)
        /// The output has ended. No action follows.
        case ended
    }

    struct Connection {
        let attempt: Int
        let endpoint: OutputEndpoint
        /// Whether the output must later return from this address to its primary address. True for the backup, and for
        /// an address to which the backup's server redirected the output.
        var isAway: Bool
        var liveSince: MonotonicInstant?
    }

    /// The output's state.
    package internal(set) var state: OutputState = .idle
    /// The number of attempts so far.
    package internal(set) var attempts = 0
    /// How often the output went on air.
    package internal(set) var connections = 0
    /// The failure of the last attempt that failed; nil if none did.
    package internal(set) var lastFailure: OutputFailure?

    var record: FailureRecord
    var current: Connection?
    var candidate: Connection?
    private var nextEndpoint = OutputEndpoint.primary
    /// Whether the output must later return from `nextEndpoint` to its primary address.
    private var isNextAway = false
    /// Whether the next attempt must use the redirected address. There are two reasons: the redirected address rejected
    /// the candidate, perhaps because the old connection still existed, or the server's request came while another
    /// candidate ran.
    var hasUnmetRedirection = false
    var probes = 0
    /// The times of the server's recent requests to publish at another address.
    var redirections: [MonotonicInstant] = []

    /// Creates the state machine of an output that has not been started. `policy` says when it tries again.
    package init(policy: RetryPolicy = RetryPolicy()) { record = FailureRecord(policy: policy) }

    /// The endpoint of the current attempt. Without an attempt, the endpoint of the next one.
    package var endpoint: OutputEndpoint { current?.endpoint ?? nextEndpoint }

    /// Handles an event and returns the actions to carry out, in order. `jitter` in 0..<1 varies the wait before a
    /// retry.
    package mutating func handle(_ event: Event, jitter: Double = 0) -> [Action] {
        switch event {
        case .start: state == .idle ? nextAttempt() : []
        case .accepted(let attempt, let at): accepted(attempt, at: at)
        case .awaitsCallers(let attempt): awaitCallers(attempt)
        case .failed(let attempt, let failure, let at): failed(attempt, failure, at: at, jitter: jitter)
        case .retryDue(let attempt): retryDue(attempt)
        case .reconnectRequested(let attempt, let at): redirect(attempt, at: at)
        case .primaryDue(let probe): probe == probes ? probePrimary() : []
        case .handedOver(let attempt, let at): handedOver(attempt, at: at)
        case .retryNow: retryNow()
        case .pause(let at): pause(at: at)
        case .resume: resume()
        case .finish(let deadline): finish(deadline)
        case .drained(let attempt): drained(attempt)
        case .deadlinePassed: deadlinePassed()
        case .stop: stop()
        }
    }

    mutating func nextAttempt() -> [Action] {
        attempts += 1
        current = Connection(attempt: attempts, endpoint: nextEndpoint, isAway: isNextAway)
        state = .connecting(attempt: attempts)
        return [.begin(attempt: attempts, at: nextEndpoint)]
    }

    private mutating func accepted(_ attempt: Int, at now: MonotonicInstant) -> [Action] {
        if candidate?.attempt == attempt { return candidateAccepted(at: now) }
        guard let connection = current, connection.attempt == attempt else { return [] }
        guard connection.liveSince == nil else {
            // The peer has accepted this attempt's stream before: now another receiver has connected to the attempt.
            if state == .waiting { state = .live(since: now) }
            return []
        }
        connections += 1
        current?.liveSince = now
        if case .draining(let deadline) = state {
            return [.goLive(attempt: attempt), .drain(attempt: attempt, deadline: deadline)]
        }
        state = .live(since: now)
        return [.goLive(attempt: attempt)] + arrangeLook(from: connection)
    }

    /// Handles an attempt that waits for receivers. Only outputs without a backup listen, so there is no candidate.
    private mutating func awaitCallers(_ attempt: Int) -> [Action] {
        guard current?.attempt == attempt else { return [] }
        switch state {
        case .connecting, .live: state = .waiting
        default: break
        }
        return []
    }

    private mutating func failed(
        _ attempt: Int, _ failure: OutputFailure, at now: MonotonicInstant, jitter: Double
    ) -> [Action] {
        if candidate?.attempt == attempt { return candidateFailed(failure) }
        guard let connection = current, connection.attempt == attempt else { return [] }
        current = nil
        lastFailure = failure
        if case .draining = state {
            state = .stopped
            return [.abandon(attempt: attempt), .ended]
        }
        let liveFor = connection.liveSince.map { now - $0 } ?? .zero
        // A permanent refusal by a redirected address says nothing about the output's own addresses. So it counts here
        // as a rejection that is not permanent, after which the next attempt comes soon.
        let isForeign = connection.endpoint == .redirected && failure.kind == .refused
        let judged = isForeign ? OutputFailure(.rejected, step: failure.step, reason: failure.reason) : failure
        let verdict = record.note(
            judged, at: connection.isAway ? .backup : .primary, now: now, liveFor: liveFor, jitter: jitter)
        if hasUnmetRedirection {
            // The redirected address replaces the address that just failed. If that address was the backup, the output
            // must still return to its primary address later.
            (nextEndpoint, isNextAway) = (.redirected, connection.isAway)
        } else {
            (nextEndpoint, isNextAway) = (verdict.endpoint, verdict.endpoint == .backup)
        }
        hasUnmetRedirection = false
        if let next = candidate { return promote(next, insteadOf: attempt) }
        guard !verdict.isLast else {
            state = .givenUp(cause: failure)
            return [.abandon(attempt: attempt), .hold]
        }
        state =
            failure.kind == .refused && nextEndpoint == connection.endpoint
            ? .refused(until: verdict.due, cause: failure) : .backingOff(until: verdict.due, cause: failure)
        return [.abandon(attempt: attempt), .hold, .wait(until: verdict.due, attempt: attempts + 1)]
    }

    private mutating func retryDue(_ attempt: Int) -> [Action] {
        guard current == nil, attempt == attempts + 1 else { return [] }
        switch state {
        case .backingOff, .refused: return nextAttempt()
        default: return []
        }
    }

    private mutating func drained(_ attempt: Int) -> [Action] {
        guard attempt == current?.attempt, case .draining = state else { return [] }
        return stop()
    }

    private mutating func deadlinePassed() -> [Action] {
        guard case .draining = state else { return [] }
        return stop()
    }

    /// Records how long the attempt was on air. Called when an attempt on air ends without a failure.
    mutating func noteLive(until now: MonotonicInstant) {
        guard let since = current?.liveSince else { return }
        record.wasLive(for: now - since, at: now)
    }

    mutating func stop() -> [Action] {
        guard state != .stopped else { return [] }
        let abandoned = [candidate, current].compactMap(\.self).map { Action.abandon(attempt: $0.attempt) }
        (candidate, current) = (nil, nil)
        state = .stopped
        return abandoned + [.ended]
    }
}

// MARK: An operator's requests

extension OutputStateMachine {
    private mutating func retryNow() -> [Action] {
        record.reset()
        switch state {
        case .backingOff, .refused, .givenUp: return nextAttempt()
        case .live: return candidate == nil ? probePrimary() : []
        default: return []
        }
    }

    private mutating func pause(at now: MonotonicInstant) -> [Action] {
        switch state {
        case .paused, .draining, .stopped: return []
        default: break
        }
        noteLive(until: now)
        let abandoned = candidate.map { [Action.abandon(attempt: $0.attempt)] } ?? []
        let ended = current.map { connection -> [Action] in
            let attempt = connection.attempt
            return [connection.liveSince == nil ? .abandon(attempt: attempt) : .retire(attempt: attempt)]
        }
        (candidate, current) = (nil, nil)
        state = .paused
        return abandoned + (ended ?? []) + [.close]
    }

    private mutating func resume() -> [Action] {
        guard state == .paused else { return [] }
        record.reset()
        (nextEndpoint, isNextAway, hasUnmetRedirection) = (.primary, false, false)
        return [.open] + nextAttempt()
    }

    /// Ends the output cleanly. If the output was never on air and an attempt is connecting, this attempt may continue
    /// until the deadline, unless it only waits for receivers. In every other state off air, the output ends at once.
    private mutating func finish(_ deadline: MonotonicInstant) -> [Action] {
        let abandoned = candidate.map { [Action.abandon(attempt: $0.attempt)] } ?? []
        switch (state, current) {
        case (.live, let connection?), (.waiting, let connection?):
            candidate = nil
            state = .draining(deadline: deadline)
            return abandoned + [.drain(attempt: connection.attempt, deadline: deadline), .watch(deadline: deadline)]
        case (.connecting(let attempt), _) where connections == 0:
            state = .draining(deadline: deadline)
            return [.drain(attempt: attempt, deadline: deadline), .watch(deadline: deadline)]
        case (.draining, _): return []
        case (.stopped, _): return [.ended]
        default: return stop()
        }
    }
}
