// SPDX-License-Identifier: Apache-2.0

internal import RTMP

/// The other side of an RTMP connection: a server or a player. It decides what differs between the two in the protocol
/// and in log messages. Its description contains no secrets.
enum RTMPPeer: Sendable, CustomStringConvertible {
    /// A server to which relay publishes.
    case server(RTMPURL)
    /// A player that pulls the stream from relay. The text is the player's name in the log.
    case player(String)

    var description: String {
        switch self {
        case .server(let url): url.description
        case .player(let name): name
        }
    }

    /// Whether the peer is a player. A server, unlike a player, is asked to store the metadata for its own players
    /// (`@setDataFrame`).
    var isPlayer: Bool { if case .player = self { true } else { false } }

    /// The word for the peer in a message.
    var noun: String { isPlayer ? "player" : "server" }

    /// Returns `text` with every secret of the server's address masked.
    func masking(_ text: String) -> String {
        if case .server(let url) = self { url.masking(text) } else { text }
    }

    /// Returns the RTMP messages that end the stream with the message stream ID `streamID`.
    func ending(streamID: UInt32) -> [RTMPMessage] {
        switch self {
        case .server(let url): RTMPHeaders.teardown(playPath: url.playPath, streamID: streamID)
        case .player: RTMPHeaders.playEnd(streamID: streamID)
        }
    }
}
