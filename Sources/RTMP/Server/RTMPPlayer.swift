// SPDX-License-Identifier: Apache-2.0

package import Networking

/// A player whose request was accepted and that waits for `onMetaData`, the configurations and media. The program's
/// output serves the player, and the server does not parse the player's messages any more.
///
/// The owner sends the bytes of ``RTMPChunkWriter`` on the socket, without blocking; each player gets the same message
/// bodies as a server of an RTMP output. As long as this object exists, it counts toward the maximum number of players.
package final class RTMPPlayer: Sendable {
    /// The player's request.
    package let request: RTMPStreamRequest
    /// The player's IP address.
    package let address: String
    /// The connection or, with TLS, our end of the socket pair to the TLS session.
    package let socket: TCPSocket
    /// The stream's ID, and the parser that continues where the server stopped parsing.
    package let handover: RTMPSession.Handover
    private let release: @Sendable () -> Void

    init(
        request: RTMPStreamRequest, address: String, socket: TCPSocket, handover: RTMPSession.Handover,
        release: @escaping @Sendable () -> Void
    ) {
        self.request = request
        self.address = address
        self.socket = socket
        self.handover = handover
        self.release = release
    }

    deinit { release() }
}

/// Offers a stream to players.
package protocol RTMPPlayerHost: AnyObject, Sendable {
    /// Receives an accepted player. Called on the server's loop; must not block.
    func joined(_ player: RTMPPlayer)
}

extension RTMPServerSession {
    /// Hands the connection of a player over to its output, after ``accept()``; `unread` are the bytes that were not
    /// parsed yet. The player's memory limits stay the same.
    package func handOver(unread: [UInt8]) -> RTMPSession.Handover {
        RTMPSession.Handover(
            streamID: request?.stream ?? 1, parser: parser, unread: unread, receivedBytes: receivedBytes,
            running: runningStream)
    }
}
