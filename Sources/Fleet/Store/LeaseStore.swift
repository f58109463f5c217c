// SPDX-License-Identifier: Apache-2.0

/// The store in which the hosts of a fleet agree: etcd, or the API server of Kubernetes.
///
/// The store decides; a host only obeys. It must carry out requests one after the other (linearizable), number the
/// changes by a growing revision, and end a lease no earlier than its time after the last keep-alive that it confirmed.
package protocol LeaseStore: Sendable {
    /// The number of endpoints by which the store can be reached, at least 1.
    var endpoints: Int { get }

    /// Sends the request to the endpoint with this index. Returns ``StoreAnswer/failed`` after `timeout`, and after any
    /// error that does not say what the store did. Does not try again.
    func answer(to request: StoreRequest, endpoint: Int, timeout: Duration) async -> StoreAnswer

    /// The changes of all entries since `revision`, which are given in order. All changes of one revision come together.
    /// The sequence ends when the connection is lost, and if the store has discarded that revision.
    func changes(since revision: Int64, endpoint: Int) -> AsyncStream<[FleetChange]>
}
