// SPDX-License-Identifier: Apache-2.0

internal import RTMP

/// The peer of a connection, and the differences between peers in log messages and in the protocol. Its description
/// contains no secrets.
enum RTMPPeer: Sendable, CustomStringConvertible {
    /// A server to which relay publishes.
    case server(RTMPURL)
    /// A player that pulls the stream from relay, with its name in the log.
    case player(String)

    var description: String {
        switch self {
        case .server(let url): url.description
        case .player(let name): name
        }
    }

    /// Whether the peer plays the stream itself. A server, in contrast, is told to store the metadata for its players
    /// (`@setDataFrame`).
    var isPlayer: Bool { if case .player = self { true } else { false } }

    /// The peer's name in a sentence.
    var noun: String { isPlayer ? "player" : "server" }

    /// Returns `text` with every secret of the address replaced.
    func masking(_ text: String) -> String {
        if case .server(let url) = self { url.masking(text) } else { text }
    }

    /// Returns the messages that end the stream `streamID`.
    func ending(streamID: UInt32) -> [RTMPMessage] {
        switch self {
        case .server(let url): RTMPHeaders.teardown(playPath: url.playPath, streamID: streamID)
        case .player: RTMPHeaders.playEnd(streamID: streamID)
        }
    }
}
