// SPDX-License-Identifier: Apache-2.0

internal import RTMP

/// Whom a connection sends a stream to, in the words of the log and of the protocol. It prints itself without secrets.
enum RTMPPeer: Sendable, CustomStringConvertible {
    /// A server that we publish at.
    case server(RTMPURL)
    /// A player that pulls the stream from us, by the name that the log gives it.
    case player(String)

    var description: String {
        switch self {
        case .server(let url): url.description
        case .player(let name): name
        }
    }

    /// Whether it plays what it gets, and so is not told to keep it for others.
    var isPlayer: Bool { if case .player = self { true } else { false } }

    /// What it is, in a sentence.
    var noun: String { isPlayer ? "player" : "server" }

    /// `text`, in which every secret of the address is replaced.
    func masking(_ text: String) -> String {
        if case .server(let url) = self { url.masking(text) } else { text }
    }

    /// The messages that end the stream `streamID`.
    func ending(streamID: UInt32) -> [RTMPMessage] {
        switch self {
        case .server(let url): RTMPHeaders.teardown(playPath: url.playPath, streamID: streamID)
        case .player: RTMPHeaders.playEnd(streamID: streamID)
        }
    }
}
