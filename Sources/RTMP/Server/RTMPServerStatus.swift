// SPDX-License-Identifier: Apache-2.0

/// A snapshot of the current connections of all listeners, and of the number of connections that the listeners closed.
package struct RTMPServerStatus: Sendable, Codable, Equatable {
    /// Why a listener ended a connection.
    package enum Cause: String, Sendable, Codable, CaseIterable {
        /// There were too many connections: the closed one was the oldest without a stream, or exceeded the maximum.
        case crowded
        /// The client missed a deadline, or its connection failed before it became a player.
        case late
        /// The client violated the protocol or a limit.
        case broken
        /// The client did not read what the server sent.
        case deaf
        /// The client's request to publish or play was refused.
        case refused
        /// Another client took over the stream, or the stream is no longer received.
        case replaced
    }

    /// One open port.
    package struct Listener: Sendable, Codable, Equatable {
        /// The address and port.
        package var address: String
        /// Whether the port uses TLS.
        package var isSecure: Bool
        /// Open connections, except those of accepted players.
        package var connections = 0
        /// Open connections that have not named an existing stream.
        package var waiting = 0
        /// Accepted players, of all streams.
        package var players = 0
        /// Number of accepted connections so far, including those that were closed at once.
        package var accepted: UInt64 = 0
        /// Number of connections closed by the listener so far, by ``Cause``.
        package var closed: [String: UInt64] = [:]
    }

    /// All listeners, sorted by address.
    package var listeners: [Listener] = []
}
