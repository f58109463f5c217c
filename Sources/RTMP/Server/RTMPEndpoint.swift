// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Decides whether a client may publish or play. Called for each request that names a known stream, with the right key;
/// the client waits for 10 s at most, then it is refused and the task cancelled. `address` is the client's.
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
    private let state = Mutex(State())

    init(_ url: RTMPListenURL, _ purpose: Purpose, authorization: RTMPAuthorization?) {
        self.url = url
        self.purpose = purpose
        self.authorization = authorization
    }

    /// Whether `request` names this stream, and with the key that players need. Takes as long for a wrong name or key of
    /// that length as for the right one.
    func matches(_ request: RTMPStreamRequest) -> Bool {
        let isSameRole = (request.action == .publish) == (url.role == .input)
        let isSameName = Self.isEqual(request.path, url.path)
        let isSameKey = url.playKey.map { Self.isEqual(request.parameter("key") ?? "", $0) } ?? true
        return isSameRole && isSameName && isSameKey
    }

    /// A comparison that looks at all bytes of `given`, wherever they differ.
    static func isEqual(_ given: String, _ secret: String) -> Bool {
        let (given, secret) = (Array(given.utf8), Array(secret.utf8))
        var difference = given.count ^ secret.count
        for index in given.indices {
            difference |= Int(given[index] ^ (secret.isEmpty ? 0 : secret[index % secret.count]))
        }
        return difference == 0
    }

    /// The publication that holds the stream.
    var publication: RTMPPublication? { state.withLock { $0.publication } }

    /// Makes `publication` the one that holds the stream. Returns false if the stream is not received any more.
    func begin(_ publication: RTMPPublication) -> Bool {
        state.withLock { state in
            guard !state.isCancelled else { return false }
            state.publication = publication
            return true
        }
    }

    /// The publication is over; another may hold the stream by now.
    func end(_ publication: RTMPPublication) {
        state.withLock { if $0.publication === publication { $0.publication = nil } }
    }

    /// Takes a player's place, if there is one. ``leave()`` gives it back.
    func enter() -> Bool {
        state.withLock { state in
            guard !state.isCancelled, state.players < url.maximumPlayers else { return false }
            state.players += 1
            return true
        }
    }

    /// Gives a player's place back.
    func leave() { state.withLock { $0.players -= 1 } }

    /// How many players there are.
    var players: Int { state.withLock { $0.players } }

    /// Ends the publication of the stream and admits no more players; players that have the stream keep it.
    func cancel() {
        let publication = state.withLock { state in
            state.isCancelled = true
            return state.publication
        }
        publication?.cancel()
    }
}
