// SPDX-License-Identifier: Apache-2.0

package import Media

/// The successor's side of a planned move (`Handover`). It handles events and returns actions for its owner. It does no
/// I/O and reads no clock.
///
/// The host becomes the successor by an entry that ends with its lease, opens everything but does not publish yet, and
/// begins with a keyframe at the agreed frame. It keeps what it encodes from there, and publishes it when it has the
/// claim. While the successor's entry exists, no other host can claim the channel. So if the holder dies in a move, the
/// successor takes over at once, in whatever state the move is.
///
/// Transitions: `applying → opening → ready → armed → claiming → ended`. From all of them a time-out, a failure or the
/// holder's withdrawal leads through `withdrawing` to `ended`. A free channel leads from any of them to `claiming`.
package struct HandoverTaker: Sendable {
    /// The state of the move.
    package enum State: Sendable, Equatable {
        /// The host asks to be the successor.
        case applying
        /// The channel is being opened.
        case opening
        /// The channel is open, but does not publish yet.
        case ready
        /// The program begins with a keyframe at this frame, and what is encoded is kept.
        case armed(cut: Int64)
        /// The channel is free, and the host asks for its claim.
        case claiming
        /// The move has failed, and the successor's entry is being deleted.
        case withdrawing
        /// The move is over.
        case ended(HandoverFailure?)
    }

    /// An event that the machine handles.
    package enum Event: Sendable, Equatable {
        /// The move begins.
        case begin
        /// The last request has this answer.
        case answered(StoreAnswer)
        /// The store has these entries about the channel.
        case entries(claim: FleetEntry?, offer: FleetEntry?, successor: FleetEntry?)
        /// The channel is open, but does not publish yet.
        case opened
        /// The channel could not be opened.
        case openingFailed
        /// The time ``HandoverTaker/due`` has come.
        case time
    }

    /// An action that the owner must carry out.
    package enum Action: Sendable, Equatable {
        /// Send this request, and report its answer.
        case ask(StoreRequest)
        /// Open the channel, but do not publish yet.
        case open
        /// Begin with a keyframe at this frame. Keep what is encoded from there on.
        case arm(cut: Int64)
        /// The host has the claim that was created at this revision.
        case taken(token: Int64)
        /// Close the channel. It was never published.
        case close
    }

    private let channel: String
    private let host: String
    private let lease: Int64
    /// The revision at which the holder's claim was created.
    private let token: Int64
    private let timing: HandoverTiming
    /// The present state.
    package private(set) var state = State.applying
    /// The revision at which this host became the successor.
    package private(set) var created: Int64?
    private var round = 0
    private var failure: HandoverFailure?
    private var deadline = MonotonicInstant.distantFuture
    /// The request without an answer, or the one to send again at ``retry``.
    private var request: StoreRequest?
    private var retry: MonotonicInstant?

    /// The move of `channel`, whose holder has the claim that was created at revision `token`, to this host.
    package init(
        channel: String, token: Int64, host: String, lease: Int64, timing: HandoverTiming = HandoverTiming()
    ) {
        (self.channel, self.token, self.host) = (channel, token, host)
        (self.lease, self.timing) = (lease, timing)
    }

    /// Whether the move is over.
    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// When the owner must report ``Event/time``.
    package var due: MonotonicInstant? { hasEnded ? nil : min(deadline, retry ?? .distantFuture) }

    /// Handles an event at `now`, and returns the actions to carry out, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Action] {
        guard !hasEnded else { return [] }
        switch event {
        case .begin:
            deadline = now + timing.patience
            let successor = HandoverSuccessor(host: host)
            return [ask(.succeed(channel: channel, token: token, lease: lease, successor))]
        case .answered(let answer): return answered(answer, at: now)
        case .entries(let claim, let offer, let successor):
            return entries(claim: claim, offer: offer, successor: successor, at: now)
        case .opened:
            guard state == .opening else { return [] }
            (state, deadline) = (.ready, now + timing.lead + timing.patience)
            return report(.ready)
        case .openingFailed: return withdraw(.openingFailed)
        case .time: return time(at: now)
        }
    }

    private mutating func ask(_ request: StoreRequest) -> Action {
        (self.request, retry) = (request, nil)
        return .ask(request)
    }

    private mutating func report(_ state: HandoverSuccessor.State) -> [Action] {
        guard let created else { return [] }
        let successor = HandoverSuccessor(host: host, state: state)
        return [ask(.report(channel: channel, successor: created, lease: lease, successor))]
    }

    private mutating func answered(_ answer: StoreAnswer, at now: MonotonicInstant) -> [Action] {
        guard let asked = request, retry == nil else { return [] }
        if answer == .failed {
            retry = now + timing.retryPause
            return []
        }
        request = nil
        switch (state, answer) {
        case (.applying, .done(let revision)): return accepted(revision, at: now)
        case (.applying, .refused(_, _, let successor)):
            // An earlier copy of the request, whose answer was lost, may have been carried out.
            guard let successor, successor.lease == lease else { return end(.holderGone) }
            return accepted(successor.created, at: now)
        case (.claiming, .done(let revision)): return taken(revision)
        case (.claiming, .refused(_, let claim?, _)) where claim.lease == lease: return taken(claim.created)
        case (.claiming, .refused): return withdraw(.holderGone)
        case (.withdrawing, _): return end(failure)
        case (_, .refused): return withdraw(.successorGone)
        default:
            if case .succeed = asked { return end(.holderGone) }
            return []
        }
    }

    private mutating func accepted(_ revision: Int64, at now: MonotonicInstant) -> [Action] {
        (state, created) = (.opening, revision)
        deadline = now + timing.opening
        return [.open]
    }

    private mutating func taken(_ token: Int64) -> [Action] { [.taken(token: token)] + end(nil) }

    private mutating func entries(
        claim: FleetEntry?, offer: FleetEntry?, successor: FleetEntry?, at now: MonotonicInstant
    ) -> [Action] {
        guard let created else { return [] }
        switch state {
        case .opening, .ready, .armed:
            guard successor?.created == created else { return [.close] + end(.successorGone) }
            guard let claim else {
                (state, deadline) = (.claiming, .distantFuture)
                return [ask(.claim(channel: channel, host: host, lease: lease, successor: created))]
            }
            guard claim.created == token, case .offer(let offer)? = offer?.value else {
                return withdraw(.holderGone)
            }
            return offered(offer, at: now)
        case .applying, .claiming, .withdrawing, .ended: return []
        }
    }

    private mutating func offered(_ offer: HandoverOffer, at now: MonotonicInstant) -> [Action] {
        guard state != .opening, let cut = offer.cut, offer.round > round else { return [] }
        round = offer.round
        (state, deadline) = (.armed(cut: cut), now + timing.lead + timing.patience * 2)
        return [.arm(cut: cut)] + report(.armed(cut: cut))
    }

    private mutating func time(at now: MonotonicInstant) -> [Action] {
        if now >= deadline {
            switch state {
            case .opening: return withdraw(.notReady)
            case .applying, .ready, .armed: return withdraw(.holderGone)
            case .claiming, .withdrawing, .ended: break
            }
        }
        guard let retry, now >= retry, let request else { return [] }
        return [ask(request)]
    }

    /// Goes back: the channel is closed here, and the successor's entry is deleted.
    private mutating func withdraw(_ cause: HandoverFailure) -> [Action] {
        guard state != .withdrawing, !hasEnded else { return [] }
        guard let created else { return end(cause) }
        // The store may still carry out a claim that this host has sent. Then the host learns from the store that it
        // holds the channel.
        (state, failure, deadline) = (.withdrawing, cause, .distantFuture)
        return [.close, ask(.withdrawSuccessor(channel: channel, successor: created))]
    }

    private mutating func end(_ failure: HandoverFailure?) -> [Action] {
        (state, request, retry, deadline) = (.ended(failure), nil, nil, .distantFuture)
        return []
    }
}
