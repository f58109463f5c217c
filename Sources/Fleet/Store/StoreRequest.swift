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
