// SPDX-License-Identifier: Apache-2.0

internal import Media

// A member's planned moves.
extension FleetMember {
    /// A frame of a channel and when it was published, from which the present frame follows.
    struct Program: Sendable {
        var frame: Int64
        var time: MonotonicInstant
        var frameDuration: Duration

        /// The next frame to be published at `now`.
        func frame(at now: MonotonicInstant) -> Int64 {
            frame + max(.zero, now - time).inNanoseconds / max(1, frameDuration.inNanoseconds) + 1
        }
    }

    /// Begins, continues or ends the planned moves of a channel, as the store's entries demand.
    mutating func considerMove(_ name: String, at now: MonotonicInstant) {
        if claims[name]?.token != nil {
            // The host holds the channel now. If it was the successor, the move is over, even if the answer to its
            // claim was lost.
            (offers[name], takers[name]) = (nil, nil)
            count(name, at: now)
            considerGiving(name, at: now)
        } else if takers[name] != nil {
            taker(
                name,
                .entries(claim: view[.claim, name], offer: view[.offer, name], successor: view[.successor, name]),
                at: now)
        } else {
            considerTaking(name, at: now)
        }
        deleteLeftovers(name, at: now)
    }

    /// Whether the host's channels must move to other hosts.
    var isDraining: Bool { isLeaving || view[.drain, profile.name] != nil }

    /// Offers every channel to other hosts.
    mutating func leave(at now: MonotonicInstant) {
        isLeaving = true
        for name in claims.keys.sorted() { consider(name, again: true, at: now) }
    }

    /// The host to which the channel must move, or any other one; nil if it must not move.
    private func target(of name: String) -> String?? {
        if let target = view[.move, name]?.host {
            guard target != profile.name, view[.host, target] != nil else { return nil }
            return .some(target)
        }
        return isDraining ? .some(nil) : nil
    }

    private mutating func considerGiving(_ name: String, at now: MonotonicInstant) {
        let target = target(of: name)
        if givers[name] != nil {
            giver(name, target == nil ? .withdraw : .successor(view[.successor, name]), at: now)
            return
        }
        guard let target, let token = claims[name]?.token, let number = lease.lease, programs[name] != nil,
            lease.state != .ended
        else { return }
        if let pause = offerPause[name], now < pause {
            later[name] = pause
            return
        }
        // A new move can begin only after the entries of an earlier one were deleted.
        guard view[.successor, name] == nil, view[.offer, name] == nil else { return }
        givers[name] = HandoverGiver(
            channel: name, token: token, lease: number, target: target, timing: handoverTiming)
        giver(name, .begin, at: now)
    }

    private mutating func considerTaking(_ name: String, at now: MonotonicInstant) {
        guard case .offer(let offer)? = view[.offer, name]?.value, offer.cut == nil,
            offer.to ?? profile.name == profile.name, view[.claim, name] != nil, view[.successor, name] == nil,
            !isDraining, lease.lease != nil,
            case .demand(let demand)? = view[.channel, name]?.value, refusal(of: demand) == nil
        else {
            offers[name] = nil
            return
        }
        guard offers[name] == nil else { return }
        let circumstances = circumstances(of: name)
        let penalty = policy.penalty(for: demand, by: profile, in: circumstances)
        let wait = policy.wait(
            by: profile, claimed: claimed, in: circumstances, jitter: jitter.value(for: name))
        offers[name] = now + penalty + wait
    }

    /// Takes offers whose wait has ended, and lets the moves know the time.
    mutating func moveOn(at now: MonotonicInstant) {
        for name in offers.filter({ $0.value <= now }).keys.sorted() {
            offers[name] = nil
            guard let number = lease.lease, let claim = view[.claim, name],
                case .demand(let demand)? = view[.channel, name]?.value, refusal(of: demand) == nil
            else { continue }
            takers[name] = HandoverTaker(
                channel: name, token: claim.created, host: profile.name, lease: number, timing: handoverTiming)
            count(name, at: now)
            taker(name, .begin, at: now)
        }
        for name in givers.filter({ ($0.value.due ?? .distantFuture) <= now }).keys.sorted() {
            giver(name, .time, at: now)
        }
        for name in takers.filter({ ($0.value.due ?? .distantFuture) <= now }).keys.sorted() {
            taker(name, .time, at: now)
        }
    }

    /// Handles what a channel reports.
    mutating func channel(_ name: String, _ progress: ChannelProgress, at now: MonotonicInstant) {
        switch progress {
        case .frame(let frame, let time, let frameDuration):
            let isFirst = programs[name] == nil
            guard claims[name]?.token != nil else { return }
            programs[name] = Program(frame: frame, time: time, frameDuration: frameDuration)
            if isFirst { considerMove(name, at: now) }
        case .opened: taker(name, .opened, at: now)
        case .openingFailed:
            failures[name, default: 0] += 1
            taker(name, .openingFailed, at: now)
        case .reachedCut: giver(name, .reachedCut, at: now)
        }
    }

    /// Lets the move from this host handle an event. An answer counts only if it is the answer to the last request.
    mutating func giver(_ name: String, _ event: HandoverGiver.Event, request: Int? = nil, at now: MonotonicInstant) {
        guard var giver = givers[name], let program = programs[name] else { return }
        guard request == nil || request == moveRequests[name] else { return }
        let demanded = giver.handle(
            event, at: now, frame: program.frame(at: now), frameDuration: program.frameDuration)
        givers[name] = giver.hasEnded ? nil : giver
        if giver.hasEnded { offerPause[name] = now + handoverTiming.pauseAfterFailure }
        if giver.hasEnded { later[name] = offerPause[name] }
        for action in demanded {
            switch action {
            case .ask(let request):
                ask(request, for: .giver(name), at: now)
                moveRequests[name] = requests
            case .endBefore(let cut): actions.append(.endBefore(channel: name, cut: cut))
            case .closeWindow: actions.append(.silence(channel: name))
            case .resume: actions.append(.resume(channel: name, until: lease.sendingEnds ?? now))
            case .released: apply(.released, to: name, cause: .handedOver, at: now)
            }
        }
    }

    /// Lets the move to this host handle an event. An answer counts only if it is the answer to the last request.
    mutating func taker(_ name: String, _ event: HandoverTaker.Event, request: Int? = nil, at now: MonotonicInstant) {
        guard var taker = takers[name] else { return }
        guard request == nil || request == moveRequests[name] else { return }
        let demanded = taker.handle(event, at: now)
        takers[name] = taker.hasEnded ? nil : taker
        for action in demanded {
            switch action {
            case .ask(let request):
                ask(request, for: .taker(name), at: now)
                moveRequests[name] = requests
            case .open: actions.append(.prepare(channel: name))
            case .arm(let cut): actions.append(.arm(channel: name, cut: cut))
            // Nothing to do: the view contains the claim, and the call of `consider` below starts the channel.
            case .taken: break
            case .close: actions.append(.discard(channel: name))
            }
        }
        count(name, at: now)
        if taker.hasEnded { consider(name, at: now) }
    }

    /// Deletes this host's offer or successor entry if it has no move any more. The store may create such an entry
    /// late, when the move that requested it has already ended.
    private mutating func deleteLeftovers(_ name: String, at now: MonotonicInstant) {
        guard let number = lease.lease else { return }
        let offer = FleetKey(.offer, name)
        if let entry = view[.offer, name], entry.lease == number, givers[name] == nil, deleting[offer] == nil,
            let token = claims[name]?.token
        {
            delete(.offer, name, token, at: now)
        }
        let successor = FleetKey(.successor, name)
        if let entry = view[.successor, name], entry.lease == number, takers[name] == nil, deleting[successor] == nil {
            delete(.successor, name, entry.created, at: now)
        }
    }

    /// Asks the store to delete an entry of this host.
    mutating func delete(_ kind: FleetKey.Kind, _ name: String, _ revision: Int64, at now: MonotonicInstant) {
        let request: StoreRequest
        switch kind {
        case .offer: request = .withdrawOffer(channel: name, token: revision)
        case .successor: request = .withdrawSuccessor(channel: name, successor: revision)
        default: request = .release(channel: name, token: revision, successor: nil)
        }
        ask(request, for: .delete(FleetKey(kind, name)), at: now)
    }
}
