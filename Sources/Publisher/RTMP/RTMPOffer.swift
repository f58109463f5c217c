// SPDX-License-Identifier: Apache-2.0

package import Media
package import Networking
package import RTMP
internal import Synchronization

/// Offers a stream to players on relay's RTMP server. The address stays open as long as this object exists. Players are
/// refused while no attempt of the output serves the stream. May be used on any thread.
package final class RTMPOffer: Sendable {
    /// The part of the offer to which the server holds a reference. It is a separate object, so that the server does
    /// not keep the offer itself in memory.
    final class Door: RTMPPlayerHost {
        let serving = Mutex<(attempt: ObjectIdentifier, take: @Sendable (RTMPPlayer) -> Void)?>(nil)

        func joined(_ player: RTMPPlayer) {
            // If the stream has just ended, no attempt takes the player. The player is then released, which disconnects
            // it.
            serving.withLock { $0?.take }?(player)
        }
    }

    /// The address at which players request the stream.
    package let url: RTMPListenURL
    let door = Door()
    private let registration: RTMPServer.Registration

    /// Offers the stream at `url` on `server`; `identity` is needed for TLS. `authorization` decides about each player
    /// that has the right key. Blocks until the port is open. Throws if the port cannot be opened, or if another output
    /// already offers this stream and `isSuccessor` is not set.
    package init(
        _ url: RTMPListenURL, server: RTMPServer, identity: TLSServerIdentity? = nil,
        authorization: RTMPAuthorization? = nil, isSuccessor: Bool = false
    ) throws(OutputFailure) {
        self.url = url
        registration = try server.offer(
            url, identity: identity,
            authorization: { [door] request, address in
                guard door.serving.withLock({ $0 != nil }) else { return false }
                return await authorization?(request, address) ?? true
            }, isSuccessor: isSuccessor, host: door)
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
