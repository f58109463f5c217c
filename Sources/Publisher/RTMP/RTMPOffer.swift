// SPDX-License-Identifier: Apache-2.0

package import Media
package import Networking
package import RTMP
internal import Synchronization

/// Offers a stream to players on relay's RTMP server. The address stays open until the offer is closed or released.
/// Players are refused while no attempt of the output serves the stream. May be used on any thread.
package final class RTMPOffer: Sendable {
    /// The part of the offer to which the server holds a reference. It is a separate object, so that the server does
    /// not keep the offer itself in memory.
    final class Door: RTMPPlayerHost {
        let serving = Mutex<(attempt: ObjectIdentifier, take: @Sendable (RTMPPlayer) -> Void)?>(nil)

        func joined(_ player: RTMPPlayer) {
            // If the attempt that served the stream has just ended, no attempt takes the player. The player is then
            // released, which disconnects the player.
            serving.withLock { $0?.take }?(player)
        }
    }

    /// The address at which players request the stream.
    package let url: RTMPListenURL
    let door: Door
    private let register: @Sendable () throws(OutputFailure) -> RTMPServer.Registration
    private let state: Mutex<State>

    private struct State {
        /// Keeps the address open; nil before ``open()`` and after ``close()``.
        var registration: RTMPServer.Registration?
        var isClosed = false
    }

    /// Offers the stream at `url` on `server`; `identity` is needed for TLS. `authorization` decides about each player
    /// that has the right key. `leaving` has the addresses of outputs that are about to end. Blocks until the port is
    /// open. If only outputs in `leaving` keep the port from being opened, it is opened later, by ``open()``. Throws if
    /// the port cannot be opened for another reason, or if another output already offers this stream.
    package init(
        _ url: RTMPListenURL, server: RTMPServer, identity: TLSServerIdentity? = nil,
        authorization: RTMPAuthorization? = nil, leaving: Set<String> = []
    ) throws(OutputFailure) {
        let isSuccessor = leaving.contains(url.description)
        let door = Door()
        let decide: RTMPAuthorization = { request, address in
            guard door.serving.withLock({ $0 != nil }) else { return false }
            return await authorization?(request, address) ?? true
        }
        let register: @Sendable () throws(OutputFailure) -> RTMPServer.Registration = { () throws(OutputFailure) in
            try server.offer(url, identity: identity, authorization: decide, isSuccessor: isSuccessor, host: door)
        }
        var registration: RTMPServer.Registration?
        do throws(OutputFailure) {
            registration = try register()
        } catch {
            guard server.isBlocked(url, onlyBy: leaving) else { throw error }
        }
        (self.url, self.door, self.register) = (url, door, register)
        state = Mutex(State(registration: registration))
    }

    /// Opens the port if it is not open yet. Blocks until the port is open. Does nothing after ``close()``.
    func open() throws(OutputFailure) {
        guard state.withLock({ $0.registration == nil && !$0.isClosed }) else { return }
        let registration = try register()
        // If the offer was closed while the port was opened, the registration is not stored, and ends when this
        // function returns.
        state.withLock { if !$0.isClosed { $0.registration = registration } }
    }

    /// Stops offering the stream, and closes the port if it has no other stream. Players that were accepted keep their
    /// connections.
    func close() {
        let registration = state.withLock { state in
            state.isClosed = true
            return state.registration.take()
        }
        registration?.cancel()
    }

    /// Passes each new player to `attempt` from now on: the server's event loop calls `take`.
    func serve(_ attempt: AnyObject, _ take: @escaping @Sendable (RTMPPlayer) -> Void) {
        door.serving.withLock { $0 = (ObjectIdentifier(attempt), take) }
    }

    /// Refuses new players from now on, unless another attempt serves the stream already.
    func endServing(_ attempt: AnyObject) {
        door.serving.withLock { if $0?.attempt == ObjectIdentifier(attempt) { $0 = nil } }
    }
}
