// SPDX-License-Identifier: Apache-2.0

package import Media

/// The life of one output: events in, actions out, no I/O and no clock of its own.
///
/// An attempt is known by its number. What an old attempt or its timer says is ignored, so a late callback can do no
/// harm.
///
/// Transitions: `idle → connecting → live → draining → stopped`; a failure leads from `connecting` or `live` to
/// `backingOff`, `refused` or `givenUp`, and the end of the wait, or an operator, back to `connecting`; `pause` leads to
/// `paused` and `resume` from there to `connecting`; `finish` leads to `draining` or `stopped`; `stop` leads to `stopped`
/// from anywhere. An output that receivers call is `waiting` while none is there, before the first and after the last.
/// While an output is live, a second attempt may be under way at another address, the *candidate*: where the server asked
/// it to go, or at the primary while the backup serves. It takes over at a keyframe, or is forgotten.
package struct OutputStateMachine: Sendable {
    /// What happened. Times are monotonic nanoseconds.
    package enum Event: Sendable, Equatable {
        /// Begin.
        case start
        /// The peer accepted the stream.
        case accepted(attempt: Int, at: Int64)
        /// The attempt is open for receivers that call, and none is there.
        case awaitsCallers(attempt: Int)
        /// The attempt is over.
        case failed(attempt: Int, OutputFailure, at: Int64)
        /// The wait before `attempt` is over.
        case retryDue(attempt: Int)
        /// The server asks the output to publish again, at an address that is of use.
        case reconnectRequested(attempt: Int, at: Int64)
        /// It is time to probe the primary, unless a later probe was arranged.
        case primaryDue(probe: Int)
        /// The candidate is fed, from a keyframe on, and what was on air before is not any more.
        case handedOver(attempt: Int, at: Int64)
        /// An operator does not want to wait for the next attempt.
        case retryNow
        /// An operator takes the output off air.
        case pause(at: Int64)
        /// An operator puts the output on air again.
        case resume
        /// The program is over: end cleanly, by `deadline`.
        case finish(deadline: Int64)
        /// Everything queued went out and the session was closed.
        case drained(attempt: Int)
        /// The deadline of the clean end has passed.
        case deadlinePassed
        /// End at once.
        case stop
    }

    /// What to do about it.
    package enum Action: Sendable, Equatable {
        /// Make an attempt, at this address, and start it.
        case begin(attempt: Int, at: OutputEndpoint)
        /// Tell the queue that the output is on air.
        case goLive(attempt: Int)
        /// Tell the queue that the output is off air.
        case hold
        /// Take no more packets, and forget those that no attempt will send.
        case close
        /// Take packets again.
        case open
        /// Let the attempt send what is queued and close.
        case drain(attempt: Int, deadline: Int64)
        /// Let the attempt send what is queued and close, beside whatever follows.
        case retire(attempt: Int)
        /// End the attempt at once and forget it.
        case abandon(attempt: Int)
        /// Let this candidate be the output's one attempt.
        case promote(attempt: Int)
        /// Feed this candidate from the next keyframe on and retire the attempt before it; send `handedOver` at that
        /// moment.
        case handOver(to: Int)
        /// Send `retryDue(attempt)` at `until`.
        case wait(until: Int64, attempt: Int)
        /// Send `primaryDue(probe)` after this time.
        case probe(after: Duration, number: Int)
        /// Send `deadlinePassed` at `at`.
        case watch(deadline: Int64)
        /// Nothing more will happen.
        case ended
    }

    struct Connection {
        let attempt: Int
        let endpoint: OutputEndpoint
        /// Whether the output has to find back to its primary from there: it is at the backup, or was sent on from it.
        var isAway: Bool
        var liveSince: Int64?
    }

    /// What the output is doing.
    package internal(set) var state: OutputState = .idle
    /// Attempts made.
    package internal(set) var attempts = 0
    /// Times the output came on air.
    package internal(set) var connections = 0
    /// The last failure.
    package internal(set) var lastFailure: OutputFailure?

    var record: FailureRecord
    var current: Connection?
    var candidate: Connection?
    private var nextEndpoint = OutputEndpoint.primary
    /// Whether the output has to find back to its primary from there.
    private var isNextAway = false
    /// Where the server asked the output to go was tried beside the old connection and not accepted, perhaps because of it.
    var hasUnmetRedirection = false
    var probes = 0
    /// When servers asked the output to go elsewhere, lately.
    var redirections: [Int64] = []

    /// An idle output that tries again by `policy`.
    package init(policy: RetryPolicy = RetryPolicy()) { record = FailureRecord(policy: policy) }

    /// Where the output is, or was last.
    package var endpoint: OutputEndpoint { current?.endpoint ?? nextEndpoint }

    /// Takes in what happened and says what to do. `jitter` in 0..<1 spreads the wait that may follow.
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
            // Receivers come and go: the output's own connection is still the first one.
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

    /// Only outputs without a backup are called, so there is no candidate beside the attempt.
    private mutating func awaitCallers(_ attempt: Int) -> [Action] {
        guard current?.attempt == attempt else { return [] }
        switch state {
        case .connecting, .live: state = .waiting
        default: break
        }
        return []
    }

    private mutating func failed(
        _ attempt: Int, _ failure: OutputFailure, at now: Int64, jitter: Double
    ) -> [Action] {
        if candidate?.attempt == attempt { return candidateFailed(failure) }
        guard let connection = current, connection.attempt == attempt else { return [] }
        current = nil
        lastFailure = failure
        if case .draining = state {
            state = .stopped
            return [.abandon(attempt: attempt), .ended]
        }
        let liveFor = Duration.nanoseconds(connection.liveSince.map { now - $0 } ?? 0)
        let verdict = record.note(
            failure, at: connection.isAway ? .backup : .primary, now: now, liveFor: liveFor, jitter: jitter)
        if hasUnmetRedirection {
            // Where the server asked the output to go serves in its stead: from the backup it is as far from home.
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

    /// What was on air leaves it without having failed.
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

// MARK: What an operator asks for

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
        (nextEndpoint, isNextAway) = (.primary, false)
        return [.open] + nextAttempt()
    }

    /// A program that ends before the first connection is established still gives that attempt until the deadline,
    /// unless the attempt itself knows that no receiver is to be waited for; an output that is off air after having
    /// been on has nothing worth waiting for.
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
