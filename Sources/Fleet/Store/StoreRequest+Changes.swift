// SPDX-License-Identifier: Apache-2.0

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
    /// at which it was created; an offer's is not known to the writer, and does not matter.
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
