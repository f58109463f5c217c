// SPDX-License-Identifier: Apache-2.0

package import Media
package import Networking
package import RTMP
internal import Synchronization

/// A stream that players may pull, at an address that is open as long as this object exists. Players are refused while
/// no attempt serves the stream. May be used on any thread.
package final class RTMPOffer: Sendable {
    /// The part of the offer that the server retains. It is a separate object, so that the server does not keep the
    /// offer itself alive.
    final class Door: RTMPPlayerHost {
        let serving = Mutex<(attempt: ObjectIdentifier, take: @Sendable (RTMPPlayer) -> Void)?>(nil)

        func joined(_ player: RTMPPlayer) {
            // A player that arrives just as the stream ends is released, which disconnects it.
            serving.withLock { $0?.take }?(player)
        }
    }

    /// The address where players find the stream.
    package let url: RTMPListenURL
    let door = Door()
    private let registration: RTMPServer.Registration

    /// Offers the stream at `url`, through `server`; `identity` is needed for TLS. `authorization` decides about each
    /// player with the right key. Blocks until the port is open. Throws if the port cannot be opened, or if the stream
    /// already exists and this is not its successor.
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

    /// Passes players to `attempt` from now on, by calling `take` on the server's loop.
    func serve(_ attempt: AnyObject, _ take: @escaping @Sendable (RTMPPlayer) -> Void) {
        door.serving.withLock { $0 = (ObjectIdentifier(attempt), take) }
    }

    /// Refuses players from now on, unless another attempt already serves the stream.
    func endServing(_ attempt: AnyObject) {
        door.serving.withLock { if $0?.attempt == ObjectIdentifier(attempt) { $0 = nil } }
    }
}
