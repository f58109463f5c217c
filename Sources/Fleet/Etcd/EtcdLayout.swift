// SPDX-License-Identifier: Apache-2.0

/// How a fleet is stored in etcd: its keys, and the requests and answers of ``LeaseStore`` as those of etcd's JSON
/// gateway.
package struct EtcdLayout: Sendable {
    /// The prefix of all keys, without a slash at its end.
    package let prefix: String
    /// Reads the description of a channel; nil if it is not valid.
    private let demand: @Sendable ([UInt8]) -> ChannelDemand?

    /// A fleet whose keys begin with `prefix`, and whose channels are described as `demand` reads it.
    package init(prefix: String, demand: @escaping @Sendable ([UInt8]) -> ChannelDemand?) {
        (self.prefix, self.demand) = (prefix, demand)
    }

    /// The key in etcd.
    package func key(_ kind: FleetKey.Kind, _ name: String) -> String { "\(prefix)/\(kind.rawValue)/\(name)" }

    /// The key that `key` stands for in etcd; nil if it is not one of the fleet's. Keys are compared by their bytes, as
    /// etcd compares them.
    package func fleetKey(_ key: String) -> FleetKey? {
        guard key.utf8.starts(with: "\(prefix)/".utf8) else { return nil }
        let rest = key.utf8.dropFirst(prefix.utf8.count + 1)
        let parts = rest.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let kind = FleetKey.Kind(rawValue: String(Substring(parts[0]))),
            kind != .other
        else { return FleetKey(.other, String(Substring(rest))) }
        return FleetKey(kind, String(Substring(parts[1])))
    }

    /// The watch of all keys from `revision` on.
    package func watch(since revision: Int64) -> EtcdRequest { .watch(prefix: prefix + "/", since: revision) }

    /// The request as etcd's.
    package func request(for request: StoreRequest) -> EtcdRequest {
        switch request {
        case .grant(let ttl):
            let (seconds, rest) = ttl.components
            return .grant(seconds: seconds + (rest > 0 ? 1 : 0))
        case .keepAlive(let lease): return .keepAlive(lease: lease)
        case .revoke(let lease): return .revoke(lease: lease)
        case .read(let after): return .range(prefix: prefix + "/", since: after == 0 ? 0 : after + 1)
        default: return transaction(for: request)
        }
    }

    private func transaction(for request: StoreRequest) -> EtcdRequest {
        let operations = request.changes(at: 1).map { change -> EtcdRequest.Operation in
            let key = key(change.key.kind, change.key.name)
            guard let entry = change.entry, let lease = entry.lease else { return .delete(key: key) }
            return .put(key: key, value: entry.value.json, lease: lease)
        }
        let reads = request.channel.map { name in [key(.claim, name), key(.successor, name)] } ?? []
        return .transaction(
            conditions(of: request), then: operations, otherwise: reads.map { .read(key: $0) })
    }

    private func conditions(of request: StoreRequest) -> [EtcdRequest.Condition] {
        func created(_ kind: FleetKey.Kind, _ name: String, at revision: Int64) -> EtcdRequest.Condition {
            .created(key: key(kind, name), revision: revision)
        }
        switch request {
        case .register(let host, _): return [created(.host, host, at: 0)]
        case .claim(let channel, _, _, let successor):
            return [created(.claim, channel, at: 0), created(.successor, channel, at: successor ?? 0)]
        case .release(let channel, let token, let successor):
            return [created(.claim, channel, at: token)]
                + (successor.map { [created(.successor, channel, at: $0)] } ?? [])
        case .offer(let channel, let token, _, _), .withdrawOffer(let channel, let token):
            return [created(.claim, channel, at: token)]
        case .succeed(let channel, let token, _, _):
            return [
                created(.claim, channel, at: token), .exists(key: key(.offer, channel)),
                created(.successor, channel, at: 0),
            ]
        case .report(let channel, let successor, _, _), .withdrawSuccessor(let channel, let successor):
            return [created(.successor, channel, at: successor)]
        case .grant, .keepAlive, .revoke, .read: return []
        }
    }

    /// The answer to the request, from the body of etcd's answer. A body that does not show what etcd did counts as a
    /// failure.
    package func answer(to request: StoreRequest, body: some Sequence<UInt8>) -> StoreAnswer {
        do throws(EtcdAnswer.Failure) {
            return try read(body, for: request)
        } catch {
            guard case .refused(EtcdAnswer.Failure.notFound, _) = error else { return .failed }
            switch request {
            case .keepAlive, .revoke: return .leaseGone
            // The transaction names a lease that has ended, so nothing was done. With revision 0, the answer tells
            // nothing about the entries.
            default: return .refused(revision: 0, claim: nil, successor: nil)
            }
        }
    }

    private func read(
        _ body: some Sequence<UInt8>, for request: StoreRequest
    ) throws(EtcdAnswer.Failure) -> StoreAnswer {
        switch request {
        case .grant:
            let (lease, seconds) = try EtcdAnswer.grant(body)
            return .granted(lease: lease, ttl: .seconds(seconds))
        case .keepAlive(let lease):
            return try EtcdAnswer.keepAlive(body, lease: lease).map { .alive(ttl: .seconds($0)) } ?? .leaseGone
        case .revoke: return .done(revision: try EtcdAnswer.revoke(body))
        case .read:
            let (revision, keys, count) = try EtcdAnswer.range(body)
            let entries = keys.compactMap { key in fleetKey(key.key).flatMap { name in entry(key).map { (name, $0) } } }
            return .contents(revision: revision, changed: Dictionary(entries) { $1 }, count: count)
        default:
            let result = try EtcdAnswer.transaction(body)
            guard !result.succeeded else { return .done(revision: result.revision) }
            let found = result.reads.map { $0.flatMap(entry) } + [nil, nil]
            return .refused(revision: result.revision, claim: found[0], successor: found[1])
        }
    }

    /// The changes that a line of a watch reports. Keys without the prefix are left out.
    package func changes(of line: EtcdAnswer.WatchLine) -> [FleetChange] {
        line.changes.compactMap { change in
            switch change {
            case .put(let key):
                fleetKey(key.key).flatMap { name in
                    entry(key).map { FleetChange(name, revision: key.modified, entry: $0) }
                }
            case .delete(let key, let revision):
                fleetKey(key).map { FleetChange($0, revision: revision, entry: nil) }
            }
        }
    }

    /// The entry that a key of etcd contains. An entry whose value cannot be read still counts as existing; its value
    /// is then `.mark`.
    private func entry(_ key: EtcdKeyValue) -> FleetEntry? {
        guard let name = fleetKey(key.key) else { return nil }
        let value = name.kind == .channel ? demand(key.value).map { .demand($0) } : FleetValue(name.kind, key.value)
        return FleetEntry(value ?? .mark, created: key.created, modified: key.modified, lease: key.lease)
    }
}
