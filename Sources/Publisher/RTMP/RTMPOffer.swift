// SPDX-License-Identifier: Apache-2.0

package import Media
package import Networking
package import RTMP
internal import Synchronization

/// A stream that players may pull, at an address that is open as long as this object exists. Players are refused while
/// no attempt serves it. Any thread may use it.
package final class RTMPOffer: Sendable {
    /// The part of the offer that the server holds; separate, because the server keeps it alive.
    final class Door: RTMPPlayerHost {
        let serving = Mutex<(attempt: ObjectIdentifier, take: @Sendable (RTMPPlayer) -> Void)?>(nil)

        func joined(_ player: RTMPPlayer) {
            // A player that arrives just when the stream ends is released.
            serving.withLock { $0?.take }?(player)
        }
    }

    /// Where players find the stream.
    package let url: RTMPListenURL
    let door = Door()
    private let registration: RTMPServer.Registration

    /// Offers the stream at `url`, through `server`; `identity` is needed for TLS. `authorization` is asked about each
    /// player with the right key. Blocks until the port is open. Throws if that fails, or if the stream already exists.
    package init(
        _ url: RTMPListenURL, server: RTMPServer, identity: TLSServerIdentity? = nil,
        authorization: RTMPAuthorization? = nil
    ) throws(OutputFailure) {
        self.url = url
        registration = try server.offer(
            url, identity: identity,
            authorization: { [door] request, address in
                guard door.serving.withLock({ $0 != nil }) else { return false }
                return await authorization?(request, address) ?? true
            }, host: door)
    }

    /// Passes players to `attempt` from now on, by calling `take` on the server's loop.
    func serve(_ attempt: AnyObject, _ take: @escaping @Sendable (RTMPPlayer) -> Void) {
        door.serving.withLock { $0 = (ObjectIdentifier(attempt), take) }
    }

    /// Refuses players from now on, unless another attempt already serves them.
    func endServing(_ attempt: AnyObject) {
        door.serving.withLock { if $0?.attempt == ObjectIdentifier(attempt) { $0 = nil } }
    }
}
