// SPDX-License-Identifier: Apache-2.0

/// A request to the fleet's store. The store carries out each request as one transaction, wholly or not at all.
///
/// Each request that ends a right names the revision at which that right was created. So a copy of a request that
/// arrives late, or twice, cannot end a newer right.
package enum StoreRequest: Sendable, Equatable {
    /// Create a lease that lives for `ttl`.
    case grant(ttl: Duration)
    /// Let the lease live for its whole time again.
    case keepAlive(lease: Int64)
    /// End the lease, and delete every entry that was created with it.
    case revoke(lease: Int64)
    /// Create the entry of the living host, unless it exists.
    case register(host: String, lease: Int64)
    /// Create the claim of `host` on `channel`, unless the channel has one. Without `successor` there must also be no
    /// successor in a planned move. With `successor`, the channel's successor must have been created at that revision; the request
    /// deletes it.
    case claim(channel: String, host: String, lease: Int64, successor: Int64?)
    /// Delete the claim that was created at revision `token`, and the offer. With `successor`, the channel's successor
    /// must have been created at that revision.
    case release(channel: String, token: Int64, successor: Int64?)
    /// Write the holder's offer to hand the channel over, if the claim was created at revision `token`.
    case offer(channel: String, token: Int64, lease: Int64, HandoverOffer)
    /// Delete the offer, if the claim was created at revision `token`.
    case withdrawOffer(channel: String, token: Int64)
    /// Create the channel's successor, unless it has one, if the offer of the claim `token` exists.
    case succeed(channel: String, token: Int64, lease: Int64, HandoverSuccessor)
    /// Write the state of the successor that was created at revision `successor`.
    case report(channel: String, successor: Int64, lease: Int64, HandoverSuccessor)
    /// Delete the successor that was created at revision `successor`.
    case withdrawSuccessor(channel: String, successor: Int64)
    /// Read all entries that changed after `revision`, and the number of all entries.
    case read(after: Int64)
}

/// The answer of the store to a ``StoreRequest``.
package enum StoreAnswer: Sendable, Equatable {
    /// The lease with this number was created, and lives for `ttl`.
    case granted(lease: Int64, ttl: Duration)
    /// The lease lives for `ttl` again.
    case alive(ttl: Duration)
    /// The lease does not exist any more. It never exists again.
    case leaseGone
    /// The transaction was carried out at `revision`.
    case done(revision: Int64)
    /// A condition was not met. These are the channel's claim and successor at `revision`.
    case refused(revision: Int64, claim: FleetEntry?, successor: FleetEntry?)
    /// The entries that changed, and the number of all entries at `revision`.
    case contents(revision: Int64, changed: [FleetKey: FleetEntry], count: Int)
    /// There is no answer. The request may have been carried out, or may be carried out later.
    case failed
}

// MARK: What a request is about

extension StoreRequest {
    /// The channel that the request is about.
    package var channel: String? {
        switch self {
        case .claim(let name, _, _, _), .release(let name, _, _), .offer(let name, _, _, _),
            .withdrawOffer(let name, _), .succeed(let name, _, _, _), .report(let name, _, _, _),
            .withdrawSuccessor(let name, _):
            name
        case .grant, .keepAlive, .revoke, .register, .read: nil
        }
    }

    /// What the request changes if it is carried out at `revision`. A successor that is written again keeps the revision
    /// at which it was created. For an offer, the writer does not know that revision, and it does not matter.
    package func changes(at revision: Int64) -> [FleetChange] {
        func put(_ kind: FleetKey.Kind, _ name: String, _ value: FleetValue, _ lease: Int64, _ created: Int64? = nil)
            -> FleetChange
        {
            FleetChange(
                FleetKey(kind, name), revision: revision,
                entry: FleetEntry(value, created: created ?? revision, modified: revision, lease: lease))
        }
        func delete(_ kind: FleetKey.Kind, _ name: String) -> FleetChange {
            FleetChange(FleetKey(kind, name), revision: revision, entry: nil)
        }
        switch self {
        case .register(let host, let lease): return [put(.host, host, .host(host), lease)]
        case .claim(let channel, let host, let lease, let successor):
            let claim = put(.claim, channel, .host(host), lease)
            return successor == nil ? [claim] : [claim, delete(.successor, channel)]
        case .release(let channel, _, _): return [delete(.claim, channel), delete(.offer, channel)]
        case .offer(let channel, _, let lease, let offer): return [put(.offer, channel, .offer(offer), lease)]
        case .withdrawOffer(let channel, _): return [delete(.offer, channel)]
        case .succeed(let channel, _, let lease, let successor):
            return [put(.successor, channel, .successor(successor), lease)]
        case .report(let channel, let created, let lease, let successor):
            return [put(.successor, channel, .successor(successor), lease, created)]
        case .withdrawSuccessor(let channel, _): return [delete(.successor, channel)]
        case .grant, .keepAlive, .revoke, .read: return []
        }
    }
}
