// SPDX-License-Identifier: Apache-2.0

/// What the listeners of a server hold and what they turned away, at one moment.
package struct RTMPServerStatus: Sendable, Codable, Equatable {
    /// Why a listener ended a connection.
    package enum Cause: String, Sendable, Codable, CaseIterable {
        /// There were too many: it was the oldest that said nothing, or one more than there may be at all.
        case crowded
        /// It did nothing in time.
        case late
        /// It broke the protocol or a bound.
        case broken
        /// It did not read what it was told.
        case deaf
        /// Its wish to publish or play was refused.
        case refused
        /// Its stream was taken over, or is not wanted any more.
        case replaced
    }

    /// One open port.
    package struct Listener: Sendable, Codable, Equatable {
        /// The address and port.
        package var address: String
        /// Whether it speaks TLS.
        package var isSecure: Bool
        /// Open connections, without players that have their stream.
        package var connections = 0
        /// Open connections that have not named an existing stream.
        package var waiting = 0
        /// Players that have a stream, of all streams.
        package var players = 0
        /// Connections that came so far.
        package var accepted: UInt64 = 0
        /// Connections that the listener ended so far, by ``Cause``.
        package var closed: [String: UInt64] = [:]
    }

    /// All listeners, in the order of their addresses.
    package var listeners: [Listener] = []
}
