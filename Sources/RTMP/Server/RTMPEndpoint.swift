// SPDX-License-Identifier: Apache-2.0

internal import Networking
internal import Synchronization

/// Decides whether a client is allowed to publish or play. Called for each request with a known stream and the right
/// key. If there is no decision within 10 s, the client is refused and the task is cancelled. `address` is the client's
/// IP address.
package typealias RTMPAuthorization = @Sendable (_ request: RTMPStreamRequest, _ address: String) async -> Bool

/// A stream that a listener receives or offers.
final class RTMPEndpoint: Sendable {
    enum Purpose: Sendable {
        case receive(any RTMPStreamReceiver)
        case offer(any RTMPPlayerHost)
    }

    private struct State {
        var publication: RTMPPublication?
        var players = 0
        var isCancelled = false
    }

    let url: RTMPListenURL
    let purpose: Purpose
    let authorization: RTMPAuthorization?
    /// Whether this stream replaces another stream that has the same name and is about to end.
    let isSuccessor: Bool
    private let state = Mutex(State())

    init(_ url: RTMPListenURL, _ purpose: Purpose, authorization: RTMPAuthorization?, isSuccessor: Bool = false) {
        self.isSuccessor = isSuccessor
        self.url = url
        self.purpose = purpose
        self.authorization = authorization
    }

    /// Whether `request` has this stream's direction and name, and the key that players need. Comparing a wrong name or
    /// key of the same length takes the same time as comparing the right one.
    func matches(_ request: RTMPStreamRequest) -> Bool {
        let isSameRole = (request.action == .publish) == (url.role == .input)
        let isSameName = ConstantTime.isEqual(request.path, url.path)
        let isSameKey = url.playKey.map { ConstantTime.isEqual(request.parameter("key") ?? "", $0) } ?? true
        return isSameRole && isSameName && isSameKey
    }

    /// The publication that occupies the stream; nil if no client publishes it.
    var publication: RTMPPublication? { state.withLock { $0.publication } }

    /// Lets `publication` occupy the stream. Returns false if the stream is no longer received.
    func begin(_ publication: RTMPPublication) -> Bool {
        state.withLock { state in
            guard !state.isCancelled else { return false }
            state.publication = publication
            return true
        }
    }

    /// Reports the end of `publication`. This has no effect if another publication already occupies the stream.
    func end(_ publication: RTMPPublication) {
        state.withLock { if $0.publication === publication { $0.publication = nil } }
    }

    /// Adds a player, which ``leave()`` removes. Returns false and adds no player if the maximum is reached, or if the
    /// stream is cancelled.
    func enter() -> Bool {
        state.withLock { state in
            guard !state.isCancelled, state.players < url.maximumPlayers else { return false }
            state.players += 1
            return true
        }
    }

    /// Removes a player that ``enter()`` added.
    func leave() { state.withLock { $0.players -= 1 } }

    /// Number of players.
    var players: Int { state.withLock { $0.players } }

    /// Ends the stream's publication and accepts no more players; accepted players keep the stream.
    func cancel() {
        let publication = state.withLock { state in
            state.isCancelled = true
            return state.publication
        }
        publication?.cancel()
    }
}
