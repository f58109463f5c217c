// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What an output is doing, in the words that status, metrics and log use.
public enum OutputState: Sendable, Equatable {
    /// Not started.
    case idle
    /// The `attempt`-th attempt is under way.
    case connecting(attempt: Int)
    /// On air since `since` (monotonic nanoseconds): the peer accepted.
    case live(since: Int64)
    /// The program is over; what is queued goes out until `deadline`.
    case draining(deadline: Int64)
    /// Waiting for the next attempt, due at `until`.
    case backingOff(until: Int64, cause: OutputFailure)
    /// The peer refused for good; tried again rarely, next at `until`.
    case refused(until: Int64, cause: OutputFailure)
    /// Over.
    case stopped

    /// One word, for metrics and the status line.
    public var label: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .draining: "draining"
        case .backingOff: "backing_off"
        case .refused: "refused"
        case .stopped: "stopped"
        }
    }
}

/// The life of one output: events in, actions out, no I/O and no clock of its own.
///
/// An attempt is known by its number. What an old attempt or its timer says is ignored, so a late callback can do no
/// harm.
///
/// Transitions: `idle → connecting → live → draining → stopped`; a failure leads from `connecting` or `live` to
/// `backingOff` or `refused` and from there, when the wait is over, back to `connecting`; `finish` leads to `draining`
/// or `stopped`; `stop` leads to `stopped` from anywhere.
public struct OutputStateMachine: Sendable {
    /// What happened. Times are monotonic nanoseconds.
    public enum Event: Sendable, Equatable {
        /// Begin.
        case start
        /// The peer accepted the stream.
        case accepted(attempt: Int, at: Int64)
        /// The attempt is over.
        case failed(attempt: Int, OutputFailure, at: Int64)
        /// The wait before `attempt` is over.
        case retryDue(attempt: Int)
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
    public enum Action: Sendable, Equatable {
        /// Make an attempt and start it.
        case begin(attempt: Int)
        /// Tell the queue that the output is on air.
        case goLive(attempt: Int)
        /// Tell the queue that the output is off air.
        case hold
        /// Let the attempt send what is queued and close.
        case drain(attempt: Int, deadline: Int64)
        /// End the attempt at once and forget it.
        case abandon(attempt: Int)
        /// Send `retryDue(attempt)` at `at`.
        case wait(until: Int64, attempt: Int)
        /// Send `deadlinePassed` at `at`.
        case watch(deadline: Int64)
        /// Nothing more will happen.
        case ended
    }

    /// What the output is doing.
    public private(set) var state: OutputState = .idle
    /// Attempts made.
    public private(set) var attempts = 0
    /// Times the output came on air.
    public private(set) var connections = 0
    /// The last failure.
    public private(set) var lastFailure: OutputFailure?

    private var failures = 0
    private var isAttempting = false
    private var liveSince: Int64?
    private let backoff: Backoff

    /// An idle output that waits by `backoff`.
    public init(backoff: Backoff = Backoff()) { self.backoff = backoff }

    /// Takes in what happened and says what to do. `jitter` in 0..<1 spreads the wait that may follow.
    public mutating func handle(_ event: Event, jitter: Double = 0) -> [Action] {
        switch event {
        case .start: return start()
        case .accepted(let attempt, let at): return accepted(attempt, at: at)
        case .failed(let attempt, let failure, let at): return failed(attempt, failure, at: at, jitter: jitter)
        case .retryDue(let attempt): return retryDue(attempt)
        case .finish(let deadline): return finish(deadline)
        case .drained(let attempt): return drained(attempt)
        case .deadlinePassed: return deadlinePassed()
        case .stop: return stop()
        }
    }

    private mutating func start() -> [Action] {
        guard state == .idle else { return [] }
        return nextAttempt()
    }

    private mutating func nextAttempt() -> [Action] {
        attempts += 1
        isAttempting = true
        state = .connecting(attempt: attempts)
        return [.begin(attempt: attempts)]
    }

    private func isCurrent(_ attempt: Int) -> Bool { isAttempting && attempt == attempts }

    private mutating func accepted(_ attempt: Int, at now: Int64) -> [Action] {
        guard isCurrent(attempt), liveSince == nil else { return [] }
        connections += 1
        liveSince = now
        if case .draining(let deadline) = state {
            return [.goLive(attempt: attempt), .drain(attempt: attempt, deadline: deadline)]
        }
        state = .live(since: now)
        return [.goLive(attempt: attempt)]
    }

    private mutating func failed(
        _ attempt: Int, _ failure: OutputFailure, at now: Int64, jitter: Double
    ) -> [Action] {
        guard isCurrent(attempt) else { return [] }
        isAttempting = false
        lastFailure = failure
        noteFailure(failure, liveFor: liveSince.map { now - $0 } ?? 0)
        liveSince = nil
        if case .draining = state {
            state = .stopped
            return [.abandon(attempt: attempt), .ended]
        }
        let delay = backoff.delay(afterFailure: max(1, failures), kind: failure.kind, jitter: jitter)
        let due = now + delay.inNanoseconds
        state =
            failure.kind == .refused
            ? .refused(until: due, cause: failure) : .backingOff(until: due, cause: failure)
        return [.abandon(attempt: attempt), .hold, .wait(until: due, attempt: attempts + 1)]
    }

    /// Counts the failures in a row of a peer that answers; one that does not answer has done nothing to be spared for.
    private mutating func noteFailure(_ failure: OutputFailure, liveFor: Int64) {
        let wasSettled = failure.kind == .lost && liveFor >= backoff.settledAfter.inNanoseconds
        if failure.kind == .unreachable || wasSettled || liveFor >= backoff.resetAfter.inNanoseconds { failures = 0 }
        if failure.kind != .unreachable { failures += 1 }
    }

    private mutating func retryDue(_ attempt: Int) -> [Action] {
        guard !isAttempting, attempt == attempts + 1 else { return [] }
        switch state {
        case .backingOff, .refused: return nextAttempt()
        default: return []
        }
    }

    /// A program that ends before the first connection stands still gives that attempt until the deadline; an output
    /// that is off air after having been on has nothing worth waiting for.
    private mutating func finish(_ deadline: Int64) -> [Action] {
        switch state {
        case .live:
            state = .draining(deadline: deadline)
            return [.drain(attempt: attempts, deadline: deadline), .watch(deadline: deadline)]
        case .connecting where connections == 0:
            state = .draining(deadline: deadline)
            return [.watch(deadline: deadline)]
        case .draining:
            return []
        case .stopped:
            return [.ended]
        default:
            return stop()
        }
    }

    private mutating func drained(_ attempt: Int) -> [Action] {
        guard isCurrent(attempt), case .draining = state else { return [] }
        return stop()
    }

    private mutating func deadlinePassed() -> [Action] {
        guard case .draining = state else { return [] }
        return stop()
    }

    private mutating func stop() -> [Action] {
        guard state != .stopped else { return [] }
        let abandoned: [Action] = isAttempting ? [.abandon(attempt: attempts)] : []
        isAttempting = false
        state = .stopped
        return abandoned + [.ended]
    }
}
