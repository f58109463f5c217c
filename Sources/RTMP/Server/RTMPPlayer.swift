// SPDX-License-Identifier: Apache-2.0

package import Networking

/// A player whose stream was accepted, and that waits for `onMetaData`, the configurations and media. From here on it
/// is an output of its own; the server has nothing more to do with it.
///
/// The owner of the socket sends on it, without blocking, what ``RTMPChunkWriter`` makes; each player gets the same
/// bodies as an RTMP output. When the player is let go, its place is free for another.
package final class RTMPPlayer: Sendable {
    /// What the player asked for.
    package let request: RTMPStreamRequest
    /// The player's IP address.
    package let address: String
    /// The connection, or the near end of its TLS session.
    package let socket: TCPSocket
    /// The stream's number, and what reads on from where the server stopped.
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
    /// A player was accepted. Called on the server's loop; must not block.
    func joined(_ player: RTMPPlayer)
}

extension RTMPServerSession {
    /// Gives the conversation with a player away, after ``accept()`` and with what was not taken, `unread`. A player may not
    /// make us keep more than it could before.
    package func handOver(unread: [UInt8]) -> RTMPSession.Handover {
        RTMPSession.Handover(
            streamID: request?.stream ?? 1, parser: parser, unread: unread, receivedBytes: receivedBytes)
    }
}
