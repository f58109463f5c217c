// SPDX-License-Identifier: Apache-2.0

package import Media

/// The holder's side of a planned move (`Handover`). It handles events and returns actions for its owner. It does no I/O
/// and reads no clock.
///
/// The holder writes an offer. One admitted host becomes the successor, opens everything but does not publish yet, and
/// says that it is ready. The holder proposes frame N. The successor confirms that it begins with a keyframe at N. The
/// holder publishes up to N − 1, *then* closes its window of sending, and only then deletes its claim, in a transaction
/// that also requires that the successor is still there. So at any time at most one host may send.
///
/// Ways back: until the claim's deletion is requested, the holder can continue at any frame, because it encodes
/// everything as before. After the request, it continues at N only if the store says that the successor is gone: then no
/// copy of the request can be carried out later. Without an answer it sends the request again. If the lease is lost,
/// the move ends.
///
/// Transitions: `offering → preparing → proposing → ending → releasing → ended`, and from each but the last two through
/// `withdrawing` to `ended`.
package struct HandoverGiver: Sendable {
    /// The state of the move.
    package enum State: Sendable, Equatable {
        /// The holder waits for a successor.
        case offering
        /// The successor, created at this revision, opens the channel.
        case preparing(successor: Int64)
        /// The holder has proposed this frame.
        case proposing(successor: Int64, cut: Int64)
        /// Both hosts agree on this frame, and the holder publishes the frames before it.
        case ending(successor: Int64, cut: Int64)
        /// All frames before the agreed one were sent, the window is closed, and the claim is being deleted.
        case releasing(successor: Int64)
        /// The move has failed, and the offer is being deleted. The channel stays on air.
        case withdrawing
        /// The move is over. After a failure the channel is where it was.
        case ended(HandoverFailure?)
    }

    /// An event that the machine handles.
    package enum Event: Sendable, Equatable {
        /// The move begins.
        case begin
        /// The last request has this answer.
        case answered(StoreAnswer)
        /// The store has this entry for the channel's successor.
        case successor(FleetEntry?)
        /// Every frame before the agreed one was sent, and the program is held there.
        case reachedCut
        /// The operator withdrew the request.
        case withdraw
        /// The time ``HandoverGiver/due`` has come.
        case time
    }

    /// An action that the owner must carry out.
    package enum Action: Sendable, Equatable {
        /// Send this request, and report its answer.
        case ask(StoreRequest)
        /// Publish up to the frame before this one, continue to encode, and keep what is encoded.
        case endBefore(cut: Int64)
        /// Close the window of sending at once.
        case closeWindow
        /// Open the window again, if it was closed, and publish what was kept.
        case resume
        /// The claim does not exist any more. Close the channel.
        case released
    }

    private let channel: String
    private let token: Int64
    private let lease: Int64
    private let target: String?
    private let timing: HandoverTiming
    /// The present state.
    package private(set) var state = State.offering
    private var failure: HandoverFailure?
    private var round = 0
    /// The time-out of the present state; distantFuture if the state ends only with the store's answer.
    private var deadline = MonotonicInstant.distantFuture
    /// The request without an answer, or the one to send again at ``retry``.
    private var request: StoreRequest?
    private var retry: MonotonicInstant?

    /// The move of `channel`, whose claim was created at revision `token`, to the host `target`; to any host if nil.
    package init(
        channel: String, token: Int64, lease: Int64, target: String?, timing: HandoverTiming = HandoverTiming()
    ) {
        (self.channel, self.token, self.lease) = (channel, token, lease)
        (self.target, self.timing) = (target, timing)
    }

    /// Whether the move is over.
    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Whether the host may not send, although it has the claim.
    package var isSilent: Bool { if case .releasing = state { true } else { false } }

    /// When the owner must report ``Event/time``.
    package var due: MonotonicInstant? { hasEnded ? nil : min(deadline, retry ?? .distantFuture) }

    /// Handles an event at `now`, when `frame` is the next frame to be published and frames
    /// last `frameDuration`. Returns the actions to carry out, in order.
    package mutating func handle(
        _ event: Event, at now: MonotonicInstant, frame: Int64, frameDuration: Duration
    ) -> [Action] {
        guard !hasEnded else { return [] }
        switch event {
        case .begin:
            deadline = now + timing.successorWait
            return [ask(.offer(channel: channel, token: token, lease: lease, HandoverOffer(to: target)))]
        case .answered(let answer): return answered(answer, at: now)
        case .successor(let entry): return successor(entry, at: now, frame: frame, frameDuration: frameDuration)
        case .reachedCut: return reachedCut()
        case .withdraw: return withdraw(.withdrawn)
        case .time: return time(at: now, frame: frame, frameDuration: frameDuration)
        }
    }

    private mutating func ask(_ request: StoreRequest) -> Action {
        (self.request, retry) = (request, nil)
        return .ask(request)
    }

    private mutating func answered(_ answer: StoreAnswer, at now: MonotonicInstant) -> [Action] {
        guard request != nil, retry == nil else { return [] }
        if answer == .failed {
            retry = now + timing.retryPause
            return []
        }
        request = nil
        switch (state, answer) {
        case (.releasing, .done): return end(nil)
        case (.releasing(let successor), .refused(_, let claim, let present)):
            guard claim?.created == token else { return end(nil) }
            guard present?.created == successor else { return withdraw(.successorGone) }
            retry = now + timing.retryPause
            request = .release(channel: channel, token: token, successor: successor)
            return []
        case (.withdrawing, _): return end(failure)
        // The claim is gone because the lease was lost. The lease's machine tells the owner, so no action is needed
        // here.
        case (_, .refused(_, let claim, _)) where claim?.created != token: return end(.holderGone)
        default: return []
        }
    }

    private mutating func successor(
        _ entry: FleetEntry?, at now: MonotonicInstant, frame: Int64, frameDuration: Duration
    ) -> [Action] {
        switch state {
        case .offering:
            guard let entry else { return [] }
            state = .preparing(successor: entry.created)
            deadline = now + timing.opening + timing.patience
            return successor(entry, at: now, frame: frame, frameDuration: frameDuration)
        case .preparing(let created), .proposing(let created, _), .ending(let created, _):
            guard let entry, entry.created == created else { return withdraw(.successorGone) }
            guard case .successor(let successor) = entry.value else { return [] }
            return report(successor.state, at: now, frame: frame, frameDuration: frameDuration)
        case .releasing, .withdrawing, .ended: return []
        }
    }

    private mutating func report(
        _ reported: HandoverSuccessor.State, at now: MonotonicInstant, frame: Int64, frameDuration: Duration
    ) -> [Action] {
        switch (state, reported) {
        case (.preparing(let created), .ready):
            return propose(to: created, at: now, frame: frame, frameDuration: frameDuration)
        case (.proposing(let created, let cut), .armed(let armed)) where armed == cut && frame < cut:
            state = .ending(successor: created, cut: cut)
            deadline = now + timing.lead + timing.patience
            // The last offer need not be sent again: the successor has already confirmed it.
            (request, retry) = (nil, nil)
            return [.endBefore(cut: cut)]
        default: return []
        }
    }

    private mutating func propose(
        to successor: Int64, at now: MonotonicInstant, frame: Int64, frameDuration: Duration
    ) -> [Action] {
        guard round < timing.rounds else { return withdraw(.notArmed) }
        round += 1
        let cut = frame + timing.lead.inNanoseconds / max(1, frameDuration.inNanoseconds)
        state = .proposing(successor: successor, cut: cut)
        deadline = now + timing.lead - timing.notice
        let offer = HandoverOffer(to: target, cut: cut, round: round)
        return [ask(.offer(channel: channel, token: token, lease: lease, offer))]
    }

    private mutating func reachedCut() -> [Action] {
        guard case .ending(let successor, _) = state else { return [] }
        (state, deadline) = (.releasing(successor: successor), .distantFuture)
        return [.closeWindow, ask(.release(channel: channel, token: token, successor: successor))]
    }

    private mutating func time(at now: MonotonicInstant, frame: Int64, frameDuration: Duration) -> [Action] {
        if now >= deadline {
            switch state {
            case .offering: return withdraw(.noSuccessor)
            case .preparing: return withdraw(.notReady)
            case .proposing(let successor, _):
                return propose(to: successor, at: now, frame: frame, frameDuration: frameDuration)
            case .ending: return withdraw(.cutNotReached)
            case .releasing, .withdrawing, .ended: break
            }
        }
        guard let retry, now >= retry, let request else { return [] }
        return [ask(request)]
    }

    /// Goes back: the channel stays here, and the offer is deleted.
    private mutating func withdraw(_ cause: HandoverFailure) -> [Action] {
        let mustResume: Bool
        switch state {
        case .withdrawing, .ended: return []
        // While the claim is being deleted, the holder may continue only if the store says that the successor is gone.
        case .releasing where cause != .successorGone: return []
        case .ending, .releasing: mustResume = true
        default: mustResume = false
        }
        (state, failure, deadline) = (.withdrawing, cause, .distantFuture)
        return (mustResume ? [.resume] : []) + [ask(.withdrawOffer(channel: channel, token: token))]
    }

    private mutating func end(_ failure: HandoverFailure?) -> [Action] {
        (state, request, retry) = (.ended(failure), nil, nil)
        return failure == nil ? [.released] : []
    }
}
