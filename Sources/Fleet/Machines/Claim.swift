// SPDX-License-Identifier: Apache-2.0

package import Media

/// The state machine of one channel on one host: whether the host holds it, and if not, when it tries to. It handles
/// events and returns actions for its owner. It does no I/O and reads no clock.
///
/// The machine relies only on the store. If the answer to its request is lost, it learns from the store's entries
/// whether the request was carried out, and takes a channel that the store says it holds.
///
/// A channel never moves without a cause. A host that holds a channel keeps it until its lease is lost, until the channel
/// fails on it, or until a planned move ends. A host that would suit the channel better is no cause.
///
/// Transitions: `taken → waiting → asking → held → taken`. A refusal and a lost answer lead from `asking` to `waiting`,
/// and any state leads to `taken` when the store says that another host holds the channel. From `held` a failed channel
/// leads to `releasing`, where the host sends nothing any more.
package struct Claim: Sendable, Equatable {
    /// The state of the channel on this host.
    package enum State: Sendable, Equatable {
        /// Another host holds the channel, or this host may not.
        case taken
        /// The channel is free. The host will claim it at this time.
        case waiting(until: MonotonicInstant)
        /// The host has sent a claim. The number is the lease that the claim names.
        case asking(lease: Int64)
        /// The host holds the channel by the claim that was created at this revision.
        case held(token: Int64)
        /// The host has closed the channel, and the store must delete the claim that was created at this revision.
        case releasing(token: Int64)
    }

    /// An event that the machine handles.
    package enum Event: Sendable, Equatable {
        /// The channel is free, and the host must wait until this time; nil if it may not claim the channel.
        case free(until: MonotonicInstant?)
        /// The wait is over, and the host has this lease.
        case due(lease: Int64)
        /// The store has a claim of the channel with another lease than this host's present one.
        case takenByOther
        /// The store has this host's claim with its present lease, created at this revision.
        case takenByUs(token: Int64)
        /// The claim was refused or had no answer. The host may try again at this time; nil if it may not.
        case failed(retry: MonotonicInstant?)
        /// The host's lease is lost.
        case leaseLost
        /// The channel cannot run on this host, or has been handed over to a successor.
        case release
        /// The channel's claim was deleted as this host had asked.
        case released
    }

    /// An action that the owner must carry out.
    package enum Action: Sendable, Equatable {
        /// Send a claim with this lease.
        case ask(lease: Int64)
        /// Open the channel, and let it send.
        case start(token: Int64)
        /// Close the channel's window of sending at once, and then the channel.
        case stop
        /// Ask the store to delete the claim that was created at this revision.
        case release(token: Int64)
    }

    /// The present state.
    package private(set) var state = State.taken
    /// The revision of the newest claim that this host has held. Reports of claims up to this revision are ignored.
    package private(set) var newestToken: Int64 = 0

    /// The machine of a channel that is not known to be free.
    package init() {}

    /// The revision of the claim by which the host holds the channel.
    package var token: Int64? { if case .held(let token) = state { token } else { nil } }

    /// Whether the host holds the channel or may soon hold it, so that its cost counts.
    package var isCounted: Bool {
        switch state {
        case .asking, .held, .releasing: true
        case .taken, .waiting: false
        }
    }

    /// Handles an event, and returns the actions to carry out, in order.
    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .free(let until): free(until: until)
        case .due(let lease): due(lease: lease)
        case .takenByOther: end(in: .taken)
        case .takenByUs(let token): taken(token: token)
        case .failed(let retry): failed(retry: retry)
        case .leaseLost: end(in: .taken)
        case .release: release()
        case .released: end(in: .taken)
        }
    }

    private mutating func free(until: MonotonicInstant?) -> [Action] {
        let next = until.map { State.waiting(until: $0) } ?? .taken
        // The store may still carry out the claim that this host has just sent, so its answer decides.
        if case .asking = state { return [] }
        return end(in: next)
    }

    private mutating func due(lease: Int64) -> [Action] {
        guard case .waiting = state else { return [] }
        state = .asking(lease: lease)
        return [.ask(lease: lease)]
    }

    private mutating func taken(token: Int64) -> [Action] {
        switch state {
        case .held(token), .releasing(token): return []
        case _ where token <= newestToken: return []
        default: break
        }
        let stopped = end(in: .held(token: token))
        newestToken = token
        return stopped + [.start(token: token)]
    }

    private mutating func failed(retry: MonotonicInstant?) -> [Action] {
        guard case .asking = state else { return [] }
        state = retry.map { .waiting(until: $0) } ?? .taken
        return []
    }

    private mutating func release() -> [Action] {
        guard case .held(let token) = state else { return [] }
        return end(in: .releasing(token: token)) + [.release(token: token)]
    }

    /// Goes to `next`, and stops the channel if the host holds it.
    private mutating func end(in next: State) -> [Action] {
        let wasHeld = token != nil
        state = next
        return wasHeld ? [.stop] : []
    }
}
