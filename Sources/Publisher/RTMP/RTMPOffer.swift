// SPDX-License-Identifier: Apache-2.0

package import Media
package import Networking
package import RTMP
internal import Synchronization

/// A stream that players may pull from us, at an address that is open as long as this is held. While no attempt serves
/// it players are refused. All calls may come from any thread.
package final class RTMPOffer: Sendable {
    /// What the server knows of the offer; apart, because the server holds it.
    final class Door: RTMPPlayerHost {
        let serving = Mutex<(attempt: ObjectIdentifier, take: @Sendable (RTMPPlayer) -> Void)?>(nil)

        func joined(_ player: RTMPPlayer) {
            // One that comes in the moment in which the stream ends is let go.
            serving.withLock { $0?.take }?(player)
        }
    }

    /// Where players find the stream.
    package let url: RTMPListenURL
    let door = Door()
    private let registration: RTMPServer.Registration

    /// Offers the stream at `url`, an output, by `server`; `identity` is needed if it is secure. `authorization` is asked
    /// about each player that has the key. Blocks until the port is open. Throws if it cannot be, or if there is such a
    /// stream already.
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

    /// From now on players are given to `attempt`, by `take`, on the server's loop.
    func serve(_ attempt: AnyObject, _ take: @escaping @Sendable (RTMPPlayer) -> Void) {
        door.serving.withLock { $0 = (ObjectIdentifier(attempt), take) }
    }

    /// Players are refused from now on, unless another attempt serves them by now.
    func endServing(_ attempt: AnyObject) {
        door.serving.withLock { if $0?.attempt == ObjectIdentifier(attempt) { $0 = nil } }
    }
}
