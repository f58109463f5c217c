// SPDX-License-Identifier: Apache-2.0

internal import Media

// A member's requests to the store, and the answers to them.
extension FleetMember {
    /// A request that was sent.
    struct Pending: Sendable {
        /// The purpose of a request.
        enum Purpose: Sendable, Equatable {
            /// The lease's request with this number.
            case lease(Int)
            /// The host's own entry.
            case register(lease: Int64)
            /// A claim with this lease.
            case claim(String, lease: Int64)
            /// Everything that changed after this revision.
            case read(after: Int64)
            /// The planned move of this channel from the host.
            case giver(String)
            /// The planned move of this channel to the host.
            case taker(String)
            /// The end of an entry that this host has in the store.
            case delete(FleetKey)
        }

        var purpose: Purpose
        var request: StoreRequest
        var start: MonotonicInstant
        var endpoint: Int
        /// Whether the request has not timed out. A late answer is still recorded, because what it says about the store
        /// is true.
        var isOpen = true
    }

    /// Sends a request.
    mutating func ask(
        _ request: StoreRequest, for purpose: Pending.Purpose, endpoint: Int? = nil, at now: MonotonicInstant
    ) {
        requests += 1
        let endpoint = endpoint ?? lease.endpoint
        pending[requests] = Pending(purpose: purpose, request: request, start: now, endpoint: endpoint)
        nextTimeout = min(nextTimeout, now + timing.requestTimeout)
        if case .delete(let key) = purpose { deleting[key] = requests }
        actions.append(.ask(request: requests, request, endpoint: endpoint))
    }

    /// Ends the requests that have no answer in time.
    mutating func timeOut(at now: MonotonicInstant) {
        guard now >= nextTimeout else { return }
        let limit = timing.requestTimeout
        for number in pending.keys.sorted() {
            guard let sent = pending[number], now - sent.start >= limit else { continue }
            if sent.isOpen {
                pending[number]?.isOpen = false
                if case .lease = sent.purpose { continue }
                failed(number, sent, at: now)
            } else if now - sent.start >= limit * 20 {
                pending[number] = nil
            }
        }
        nextTimeout = pending.values.lazy.map { $0.start + ($0.isOpen ? limit : limit * 20) }.min() ?? .distantFuture
    }

    /// Handles an answer. If the request has timed out, it has already counted as failed; what its answer says about
    /// entries is still recorded.
    mutating func answered(_ number: Int, _ answer: StoreAnswer, at now: MonotonicInstant) {
        guard let sent = pending.removeValue(forKey: number) else { return }
        if case .lease(let own) = sent.purpose {
            apply(lease.handle(.answered(request: own, answer), at: now), at: now)
            return
        }
        if case .delete(let key) = sent.purpose, deleting[key] == number { deleting[key] = nil }
        guard answer != .failed else {
            if sent.isOpen { failed(number, sent, at: now) }
            return
        }
        learn(from: answer, to: sent)
        if sent.isOpen { decide(number, sent, answer, at: now) }
        if let name = sent.channel { consider(name, at: now) }
    }

    /// Records what an answer says about entries.
    private mutating func learn(from answer: StoreAnswer, to sent: Pending) {
        switch answer {
        case .refused(let revision, let claim, let successor):
            guard let name = sent.channel else { return }
            _ = view.record(FleetKey(.claim, name), claim, at: revision)
            _ = view.record(FleetKey(.successor, name), successor, at: revision)
        case .done(let revision):
            for change in sent.request.changes(at: revision) {
                _ = view.record(change.key, change.entry, at: revision)
            }
        default: break
        }
    }

    /// Handles the answer to a request that has not timed out.
    private mutating func decide(_ number: Int, _ sent: Pending, _ answer: StoreAnswer, at now: MonotonicInstant) {
        switch sent.purpose {
        case .claim(let name, _):
            consider(name, at: now)
            claimFailed(name, at: now)
        case .read(let after):
            guard case .contents(let revision, let changed, let count) = answer else { return }
            contents(changed, count: count, after: after, at: revision, now: now)
        case .giver(let name): giver(name, .answered(answer), request: number, at: now)
        case .taker(let name): taker(name, .answered(answer), request: number, at: now)
        case .register(let lease):
            if case .refused = answer { registerAgain(lease: lease, at: now) }
        case .delete, .lease: break
        }
    }

    /// Handles a request without an answer: its outcome is not known.
    private mutating func failed(_ number: Int, _ sent: Pending, at now: MonotonicInstant) {
        lease.endpointFailed(sent.endpoint)
        switch sent.purpose {
        case .claim(let name, _): claimFailed(name, at: now)
        case .read: nextRead = now + timing.retryPause
        case .giver(let name): giver(name, .answered(.failed), request: number, at: now)
        case .taker(let name): taker(name, .answered(.failed), request: number, at: now)
        case .register(let lease): registerAgain(lease: lease, at: now)
        case .delete(let key):
            if deleting[key] == number { deleting[key] = nil }
            later[key.name] = now + timing.retryPause
        case .lease: break
        }
    }

    /// Asks for the host's own entry again. The entry of the host's last lease may still be there.
    private mutating func registerAgain(lease number: Int64, at now: MonotonicInstant) {
        guard lease.lease == number else { return }
        mustRegister = now + timing.retryPause * 4
    }

    /// Records what a read returned, and watches from there.
    private mutating func contents(
        _ changed: [FleetKey: FleetEntry], count: Int, after: Int64, at revision: Int64, now: MonotonicInstant
    ) {
        let (news, isComplete) = view.record(changed, count: count, after: after, at: revision)
        noticed(news, at: now)
        if isComplete {
            watchHeard = now
            actions.append(.watch(since: revision + 1, endpoint: lease.endpoint))
        } else {
            ask(.read(after: 0), for: .read(after: 0), at: now)
        }
    }

    /// Handles the changes that the watch reports.
    mutating func changed(_ changes: [FleetChange], at now: MonotonicInstant) {
        if watchHeard != nil { watchHeard = now }
        noticed(
            changes.filter { view.record($0.key, $0.entry, at: $0.revision) }.map(\.key), at: now)
    }

    /// Considers every channel that the changed entries concern.
    private mutating func noticed(_ keys: [FleetKey], at now: MonotonicInstant) {
        var names: Set<String> = []
        // The channels whose waits depend on what has changed.
        var again: Set<String> = []
        for key in keys {
            switch key.kind {
            case .channel, .claim, .offer, .successor: names.insert(key.name)
            case .move: again.insert(key.name)
            case .drain: if key.name == profile.name { again.formUnion(claims.keys) }
            case .other: break
            // A move whose target was not there can begin now.
            case .host: names.formUnion(held.keys.filter { view[.move, $0]?.host == key.name })
            }
        }
        names.formUnion(again)
        for name in names.count > 1 ? names.sorted() : Array(names) {
            consider(name, again: again.contains(name), at: now)
        }
    }

    /// Reads the store if the watch has been silent for too long. A silent watch may have lost its connection, or
    /// nothing may have changed in the fleet; only a read shows which.
    mutating func readOrWatch(at now: MonotonicInstant) {
        if let heard = watchHeard, now >= heard + timing.watchSilence { nextRead = now }
        if let time = mustRegister, now >= time, let number = lease.lease {
            mustRegister = nil
            ask(.register(host: profile.name, lease: number), for: .register(lease: number), at: now)
        }
        guard let time = nextRead, now >= time else { return }
        (watchHeard, nextRead) = (nil, nil)
        ask(.read(after: view.complete), for: .read(after: view.complete), at: now)
    }
}

extension FleetMember.Pending {
    /// The channel that the request is about.
    var channel: String? {
        switch purpose {
        case .claim(let name, _), .giver(let name), .taker(let name): name
        case .delete(let key): key.name
        case .lease, .register, .read: nil
        }
    }
}
