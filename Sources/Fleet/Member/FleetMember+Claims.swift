// SPDX-License-Identifier: Apache-2.0

internal import Media

// A member's claims.
extension FleetMember {
    /// Brings this host's state of a channel in line with the store's entries about it: the claim, the wait for it, and
    /// planned moves. With `again`, the wait for a free channel is computed again although it is under way, because an
    /// operator's request to drain a host or to move the channel has changed how long it must be.
    mutating func consider(_ name: String, again: Bool = false, at now: MonotonicInstant) {
        guard case .demand(let demand)? = view[.channel, name]?.value else {
            forget(name, at: now)
            return
        }
        if let entry = view[.claim, name] {
            free[name] = nil
            if entry.host != profile.name { heldBefore.remove(name) }
            let isOurs = entry.lease == lease.lease && entry.lease != nil
            apply(isOurs ? .takenByUs(token: entry.created) : .takenByOther, to: name, cause: .claimGone, at: now)
        } else if view[.successor, name] != nil {
            free[name] = nil
            apply(.takenByOther, to: name, cause: .claimGone, at: now)
        } else {
            if free.updateValue(free[name] ?? now, forKey: name) == nil, claimPause <= now { pauseClaims(at: now) }
            considerFree(name, demand, again: again, at: now)
        }
        if case .releasing(let token)? = claims[name]?.state, deleting[FleetKey(.claim, name)] == nil {
            delete(.claim, name, token, at: now)
        }
        considerMove(name, at: now)
    }

    /// Waits for a free channel, if the host may claim it. A wait that is under way continues, unless `again` is true.
    private mutating func considerFree(_ name: String, _ demand: ChannelDemand, again: Bool, at now: MonotonicInstant) {
        if case .waiting? = claims[name]?.state, !again, refusal(of: demand) == nil { return }
        apply(.free(until: wait(for: name, demand, at: now)), to: name, cause: .claimGone, at: now)
    }

    /// Considers every free channel, because the host's lease or load has changed. Waits that are under way continue.
    mutating func considerFree(at now: MonotonicInstant) {
        for name in free.keys {
            guard case .demand(let demand)? = view[.channel, name]?.value else { continue }
            considerFree(name, demand, again: false, at: now)
        }
    }

    /// When the host may claim the channel; nil if it may not.
    private func wait(for name: String, _ demand: ChannelDemand, at now: MonotonicInstant) -> MonotonicInstant? {
        guard lease.lease != nil, refusal(of: demand) == nil else { return nil }
        let circumstances = circumstances(of: name)
        let penalty = policy.penalty(for: demand, by: profile, in: circumstances)
        let order = policy.order(in: circumstances, jitter: jitter.value(for: name))
        return max(now, (free[name] ?? now) + penalty) + order
    }

    /// Lets the host wait before its next claim. A host with more load waits longer. A host that has just got a channel
    /// waits again, with a higher load.
    private mutating func pauseClaims(at now: MonotonicInstant) {
        var circumstances = ClaimPolicy.Circumstances()
        circumstances.hosts = view.hosts
        let wait = policy.wait(
            by: profile, claimed: claimed, in: circumstances, jitter: jitter.value(for: profile.name))
        claimPause = now + wait
    }

    /// What the wait for the channel depends on.
    func circumstances(of name: String) -> ClaimPolicy.Circumstances {
        var circumstances = ClaimPolicy.Circumstances()
        circumstances.isDraining = isDraining
        circumstances.movesTo = view[.move, name]?.host
        circumstances.heldBefore = heldBefore.contains(name)
        circumstances.hosts = view.hosts
        circumstances.failures = failures[name] ?? 0
        return circumstances
    }

    /// Claims the channel whose wait has ended first.
    mutating func claimNext(at now: MonotonicInstant) {
        findNext()
        guard let number = lease.lease, let due = claimDue, due <= now, let next = nextClaim,
            case .demand(let demand)? = view[.channel, next.name]?.value
        else { return }
        if refusal(of: demand) == nil {
            apply(.due(lease: number), to: next.name, cause: .claimGone, at: now)
        } else {
            // The host has got another channel meanwhile, and has no headroom for this one. It may still have headroom
            // for other channels.
            considerFree(at: now)
        }
        findNext()
    }

    /// When the host may claim the next channel; nil if it waits for none. Channels that it held before do not wait for
    /// the host's pause.
    var claimDue: MonotonicInstant? {
        guard asking == nil, lease.lease != nil, let next = nextClaim else { return nil }
        return heldBefore.contains(next.name) ? next.until : max(next.until, claimPause)
    }

    /// Finds the channel whose wait ends first, if ``nextClaim`` is not known any more.
    private mutating func findNext() {
        guard !isNextKnown else { return }
        (isNextKnown, nextClaim) = (true, nil)
        for name in free.keys {
            guard case .waiting(let until)? = claims[name]?.state else { continue }
            if let next = nextClaim, (next.until, next.name) <= (until, name) { continue }
            nextClaim = (until, name)
        }
    }

    /// Ends a claim that was refused or has no answer, unless the store has said meanwhile what became of it.
    mutating func claimFailed(_ name: String, at now: MonotonicInstant) {
        guard case .asking? = claims[name]?.state else { return }
        var retry: MonotonicInstant?
        if case .demand(let demand)? = view[.channel, name]?.value, view[.claim, name] == nil {
            retry = wait(for: name, demand, at: now + timing.retryPause)
        }
        apply(.failed(retry: retry), to: name, cause: .claimGone, at: now)
    }

    /// Gives a channel that failed back to the fleet.
    mutating func channelFailed(_ name: String, at now: MonotonicInstant) {
        guard claims[name]?.token != nil else { return }
        let wasStable = now - (started[name] ?? now) >= timing.longestFailureWait
        failures[name] = wasStable ? 1 : (failures[name] ?? 0) + 1
        givers[name] = nil
        apply(.release, to: name, cause: .failed, at: now)
    }

    /// Stops every channel, because the host has no lease any more.
    mutating func leaseLost(_ loss: Lease.Loss, at now: MonotonicInstant) {
        for name in held.keys.sorted() { heldBefore.insert(name) }
        for name in counted.keys.sorted() { apply(.leaseLost, to: name, cause: .leaseLost(loss), at: now) }
        for name in takers.keys.sorted() { actions.append(.discard(channel: name)) }
        let moved = Array(takers.keys)
        (givers, takers, offers, asking, mustRegister) = ([:], [:], [:], nil, nil)
        for name in moved { count(name, at: now) }
        // A host without a lease waits for no channel.
        for name in free.keys { apply(.free(until: nil), to: name, cause: .leaseLost(loss), at: now) }
    }

    /// Closes a channel whose description is not in the store any more.
    private mutating func forget(_ name: String, at now: MonotonicInstant) {
        free[name] = nil
        if claims[name]?.token != nil { apply(.release, to: name, cause: .claimGone, at: now) }
        guard claims[name]?.isCounted != true else { return }
        claims[name] = nil
        if nextClaim?.name == name { isNextKnown = false }
    }

    /// Lets the claim handle an event, and carries out what it demands.
    mutating func apply(_ event: Claim.Event, to name: String, cause: StopCause, at now: MonotonicInstant) {
        var claim = claims[name] ?? Claim()
        let demanded = claim.handle(event)
        claims[name] = claim
        if case .asking = claim.state { asking = name } else if asking == name { asking = nil }
        scheduled(name, claim.state)
        for action in demanded { carryOut(action, name, cause: cause, at: now) }
        count(name, at: now)
    }

    private mutating func carryOut(_ action: Claim.Action, _ name: String, cause: StopCause, at now: MonotonicInstant) {
        switch action {
        case .ask(let number):
            let request = StoreRequest.claim(
                channel: name, host: profile.name, lease: number, successor: nil)
            ask(request, for: .claim(name, lease: number), at: now)
        case .start(let token):
            heldBefore.remove(name)
            started[name] = now
            actions.append(.start(channel: name, token: token, until: lease.sendingEnds ?? now))
        case .stop:
            // The watch may report that the claim was deleted before the answer to the deletion arrives.
            let wasGiven = cause == .claimGone && givers[name]?.isSilent == true
            (givers[name], programs[name]) = (nil, nil)
            actions.append(.stop(channel: name, wasGiven ? .handedOver : cause))
        case .release(let token): delete(.claim, name, token, at: now)
        }
    }

    /// Updates ``nextClaim`` after the state of a channel's claim has changed.
    private mutating func scheduled(_ name: String, _ state: Claim.State) {
        if nextClaim?.name == name { (isNextKnown, nextClaim) = (false, nil) }
        guard isNextKnown, case .waiting(let until) = state else { return }
        if let next = nextClaim, (next.until, next.name) <= (until, name) { return }
        nextClaim = (until, name)
    }

    /// Adds the channel's cost to ``claimed``, or subtracts it, if that is necessary. Then the host's load has changed,
    /// so its wait begins again, and it considers every free channel again.
    mutating func count(_ name: String, at now: MonotonicInstant) {
        let counts = claims[name]?.isCounted == true || takers[name] != nil
        guard counts != (counted[name] != nil) else { return }
        if let cost = counted.removeValue(forKey: name) {
            claimed = claimed - cost
        } else {
            var cost = Resources()
            if case .demand(let demand)? = view[.channel, name]?.value { cost = demand.cost }
            counted[name] = cost
            claimed = claimed + cost
        }
        guard lease.lease != nil else { return }
        pauseClaims(at: now)
        if !counts { considerFree(at: now) }
    }
}
