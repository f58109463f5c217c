// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media

/// A model of the fleet's store: revisions, leases and transactions as etcd has them, in memory and without time of its
/// own.
struct ModelStore {
    private struct Lease {
        var expires: TrueInstant
        var ttl: Duration
    }

    private(set) var revision: Int64 = 1
    private(set) var entries: [FleetKey: FleetEntry] = [:]
    private var leases: [Int64: Lease] = [:]
    private var lastLease: Int64 = 7000
    /// The rate of the store's clock, as a deviation in parts per million.
    var clockDeviation: Int64 = 0

    /// When the next lease ends.
    var nextExpiry: TrueInstant? { leases.values.lazy.map(\.expires).min() }

    /// Whether the store has this lease.
    func has(lease: Int64) -> Bool { leases[lease] != nil }

    /// Carries out a request, and returns its answer and what it changed.
    mutating func answer(to request: StoreRequest, at now: TrueInstant) -> (answer: StoreAnswer, changes: [FleetChange])
    {
        switch request {
        case .grant(let ttl):
            lastLease += 1
            leases[lastLease] = Lease(expires: now + onClock(ttl), ttl: ttl)
            return (.granted(lease: lastLease, ttl: ttl), [])
        case .keepAlive(let number):
            guard let lease = leases[number] else { return (.leaseGone, []) }
            let expires = now + onClock(lease.ttl)
            leases[number]?.expires = expires
            return (.alive(ttl: lease.ttl), [])
        case .revoke(let number):
            guard leases.removeValue(forKey: number) != nil else { return (.leaseGone, []) }
            let changes = deleteEntries(of: [number])
            return (.done(revision: revision), changes)
        case .read(let after):
            let changed = after == 0 ? entries : entries.filter { $0.value.modified > after }
            return (.contents(revision: revision, changed: changed, count: entries.count), [])
        default: return transact(request)
        }
    }

    /// Ends the leases whose time is over, and returns what that deletes.
    mutating func expire(at now: TrueInstant) -> [FleetChange] {
        let ended = leases.filter { $0.value.expires <= now }.map(\.key)
        guard !ended.isEmpty else { return [] }
        for lease in ended { leases[lease] = nil }
        return deleteEntries(of: ended)
    }

    /// Gives every lease its whole time again, as a leader of etcd does when it is elected.
    mutating func elect(at now: TrueInstant) {
        leases = leases.mapValues { Lease(expires: now + onClock($0.ttl), ttl: $0.ttl) }
    }

    /// Writes an entry as an operator does; deletes it if `value` is nil.
    mutating func write(_ key: FleetKey, _ value: FleetValue?) -> [FleetChange] {
        revision += 1
        let created = entries[key]?.created ?? revision
        return apply([
            FleetChange(
                key, revision: revision,
                entry: value.map { FleetEntry($0, created: created, modified: revision, lease: nil) })
        ])
    }

    private func onClock(_ time: Duration) -> Duration {
        time - .nanoseconds(time.inNanoseconds * clockDeviation / 1_000_000)
    }

    private mutating func deleteEntries(of ended: [Int64]) -> [FleetChange] {
        let keys = entries.filter { entry in entry.value.lease.map(ended.contains) == true }.map(\.key)
        guard !keys.isEmpty else { return [] }
        revision += 1
        return apply(
            keys.sorted { ($0.kind.rawValue, $0.name) < ($1.kind.rawValue, $1.name) }
                .map { FleetChange($0, revision: revision, entry: nil) })
    }

    private mutating func apply(_ changes: [FleetChange]) -> [FleetChange] {
        for change in changes { entries[change.key] = change.entry }
        return changes
    }

    private mutating func transact(_ request: StoreRequest) -> (answer: StoreAnswer, changes: [FleetChange]) {
        if let lease = request.lease, leases[lease] == nil {
            // etcd refuses a whole transaction that names a lease that is not there.
            return (refusal(of: request), [])
        }
        guard isAllowed(request) else { return (refusal(of: request), []) }
        revision += 1
        let changes = request.changes(at: revision).map { change in
            var change = change
            if let known = entries[change.key], change.entry != nil { change.entry?.created = known.created }
            return change
        }
        let real = changes.filter { $0.entry != nil || entries[$0.key] != nil }
        return (.done(revision: revision), apply(real))
    }

    private func refusal(of request: StoreRequest) -> StoreAnswer {
        let name = request.channel ?? ""
        return .refused(
            revision: revision, claim: entries[FleetKey(.claim, name)], successor: entries[FleetKey(.successor, name)])
    }

    private func isAllowed(_ request: StoreRequest) -> Bool {
        func created(_ kind: FleetKey.Kind, _ name: String) -> Int64? { entries[FleetKey(kind, name)]?.created }
        switch request {
        case .register(let host, _): return created(.host, host) == nil
        case .claim(let channel, _, _, let successor):
            return created(.claim, channel) == nil && created(.successor, channel) == successor
        case .release(let channel, let token, let successor):
            return created(.claim, channel) == token
                && (successor == nil || created(.successor, channel) == successor)
        case .offer(let channel, let token, _, _), .withdrawOffer(let channel, let token):
            return created(.claim, channel) == token
        case .succeed(let channel, let token, _, _):
            return created(.claim, channel) == token && created(.offer, channel) != nil
                && created(.successor, channel) == nil
        case .report(let channel, let successor, _, _), .withdrawSuccessor(let channel, let successor):
            return created(.successor, channel) == successor
        case .grant, .keepAlive, .revoke, .read: return true
        }
    }
}

extension StoreRequest {
    /// The lease that the request gives to an entry.
    var lease: Int64? {
        switch self {
        case .register(_, let lease), .claim(_, _, let lease, _), .offer(_, _, let lease, _),
            .succeed(_, _, let lease, _), .report(_, _, let lease, _):
            lease
        default: nil
        }
    }

    /// A word for the kind of the request.
    var kind: String { String(describing: self).prefix { $0 != "(" }.description }
}
