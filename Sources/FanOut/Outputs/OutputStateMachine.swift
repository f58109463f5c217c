// SPDX-License-Identifier: Apache-2.0

package import Media

/// The state machine of one output: events in, actions out, no I/O and no clock of its own.
///
/// Attempts are identified by number. Events of an old attempt or its timer are ignored, so late callbacks are
/// harmless.
///
/// Transitions: `idle → connecting → live → draining → stopped`. A failure leads from `connecting` or `live` to
/// `backingOff`, `refused` or `givenUp`; the end of the wait, or an operator, leads back to `connecting`. `pause` leads
/// to `paused`, and `resume` from there to `connecting`. `finish` leads to `draining` or `stopped`. `stop` leads to
/// `stopped` from any state. An output to which receivers connect is `waiting` while it has no receivers, before the
/// first and after the last. While an output is live, a second attempt, the *candidate*, may run at another address: at
/// the target of a reconnect request, or at the primary while the backup is on air. It takes over at a keyframe, or is
/// dropped.
package struct OutputStateMachine: Sendable {
    /// An event. Times are monotonic nanoseconds.
    package enum Event: Sendable, Equatable {
        /// Starts the output.
        case start
        /// The peer accepted the stream.
        case accepted(attempt: Int, at: Int64)
        /// The attempt listens, but there are no receivers.
        case awaitsCallers(attempt: Int)
        /// The attempt ended with a failure.
        case failed(attempt: Int, OutputFailure, at: Int64)
        /// The wait before `attempt` has ended.
        case retryDue(attempt: Int)
        /// The server asks the output to publish again, at an address that can be used.
        case reconnectRequested(attempt: Int, at: Int64)
        /// It is time to probe the primary, unless a later probe was scheduled.
        case primaryDue(probe: Int)
        /// From a keyframe on, the candidate gets the new packets, and the former lane gets no more.
        case handedOver(attempt: Int, at: Int64)
        /// An operator asks for the next attempt at once.
        case retryNow
        /// An operator takes the output off air.
        case pause(at: Int64)
        /// An operator puts the output on air again.
        case resume
        /// The program is over: the output must end cleanly by `deadline`.
        case finish(deadline: Int64)
        /// All queued packets were sent and the session was closed.
        case drained(attempt: Int)
        /// The deadline for the clean end has passed.
        case deadlinePassed
        /// The output must end at once.
        case stop
    }

    /// An action to carry out.
    package enum Action: Sendable, Equatable {
        /// Create an attempt for this address and start it.
        case begin(attempt: Int, at: OutputEndpoint)
        /// Tell the queue that the output is on air.
        case goLive(attempt: Int)
        /// Tell the queue that the output is off air.
        case hold
        /// Stop accepting packets, and discard the packets that no attempt will send.
        case close
        /// Accept packets again.
        case open
        /// Let the attempt send the queued packets and close.
        case drain(attempt: Int, deadline: Int64)
        /// Let the attempt send the queued packets and close while the next attempt runs.
        case retire(attempt: Int)
        /// End the attempt at once and remove it.
        case abandon(attempt: Int)
        /// Make this candidate the output's only attempt.
        case promote(attempt: Int)
        /// Give this candidate the packets from the next keyframe on, and retire the attempt before it. Send
        /// `handedOver` at that moment.
        case handOver(to: Int)
        /// Send `retryDue(attempt)` at `until`.
        case wait(until: Int64, attempt: Int)
        /// Send `primaryDue(probe)` after this time.
        case probe(after: Duration, number: Int)
        /// Send `deadlinePassed` at `at`.
        case watch(deadline: Int64)
        /// The output has ended; no action follows.
        case ended
    }

    struct Connection {
        let attempt: Int
        let endpoint: OutputEndpoint
        /// Whether the output must later return from this endpoint to its primary: the endpoint is the backup, or the
        /// output was redirected from the backup.
        var isAway: Bool
        var liveSince: Int64?
    }

    /// The output's state.
    package internal(set) var state: OutputState = .idle
    /// Number of attempts.
    package internal(set) var attempts = 0
    /// Number of times the output went on air.
    package internal(set) var connections = 0
    /// The last failure.
    package internal(set) var lastFailure: OutputFailure?

    var record: FailureRecord
    var current: Connection?
    var candidate: Connection?
    private var nextEndpoint = OutputEndpoint.primary
    /// Whether the output must later return from the next endpoint to its primary.
    private var isNextAway = false
    /// Whether a redirection was tried while the old connection existed and was rejected, perhaps because of that
    /// connection.
    var hasUnmetRedirection = false
    var probes = 0
    /// Times of recent redirections.
    var redirections: [Int64] = []

    /// An idle output with the retry policy `policy`.
    package init(policy: RetryPolicy = RetryPolicy()) { record = FailureRecord(policy: policy) }

    /// The current endpoint, or the last one.
    package var endpoint: OutputEndpoint { current?.endpoint ?? nextEndpoint }

    /// Handles an event and returns the actions. `jitter` in 0..<1 varies the wait that may follow.
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

    private mutating func accepted(_ attempt: Int, at now: Int64) -> [Action] {
        if candidate?.attempt == attempt { return candidateAccepted(at: now) }
        guard let connection = current, connection.attempt == attempt else { return [] }
        guard connection.liveSince == nil else {
            // Receivers come and go, but the output's own connection is still the first one.
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

    /// Receivers connect only to outputs without a backup, so there is no candidate beside the attempt.
    private mutating func awaitCallers(_ attempt: Int) -> [Action] {
        guard current?.attempt == attempt else { return [] }
        switch state {
        case .connecting, .live: state = .waiting
        default: break
        }
        return []
    }

    private mutating func failed(_ attempt: Int, _ failure: OutputFailure, at now: Int64, jitter: Double) -> [Action] {
        if candidate?.attempt == attempt { return candidateFailed(failure) }
        guard let connection = current, connection.attempt == attempt else { return [] }
        current = nil
        lastFailure = failure
        if case .draining = state {
            state = .stopped
            return [.abandon(attempt: attempt), .ended]
        }
        let liveFor = Duration.nanoseconds(connection.liveSince.map { now - $0 } ?? 0)
        // A redirected address is not tried again by itself: that it refuses says nothing about the next address.
        let isForeign = connection.endpoint == .redirected && failure.kind == .refused
        let judged = isForeign ? OutputFailure(.rejected, step: failure.step, reason: failure.reason) : failure
        let verdict = record.note(
            judged, at: connection.isAway ? .backup : .primary, now: now, liveFor: liveFor, jitter: jitter)
        if hasUnmetRedirection {
            // The redirected address replaces the current endpoint: if that is the backup, the output stays away from
            // the primary.
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

    /// Records that the endpoint on air ends without a failure.
    mutating func noteLive(until now: Int64) {
        guard let since = current?.liveSince else { return }
        record.wasLive(for: .nanoseconds(now - since), at: now)
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

    private mutating func pause(at now: Int64) -> [Action] {
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

    /// If the program ends before the first connection is established, that attempt still has time until the deadline,
    /// unless it reports that it only waits for receivers. An output that was on air before and is off air now ends at
    /// once.
    private mutating func finish(_ deadline: Int64) -> [Action] {
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
