// SPDX-License-Identifier: Apache-2.0

/// What libsrt says of the connections of an input: counts of all that there were, and the present one's moment.
package struct SRTInputStatistics: Sendable, Hashable, Codable {
    /// What is counted.
    package struct Totals: Sendable, Hashable, Codable {
        /// Data packets, retransmissions included (`pktRecvTotal`).
        package var packetsReceived: Int64 = 0
        /// Data packets that were new (`pktRecvUniqueTotal`).
        package var packetsUnique: Int64 = 0
        /// Data packets that were sent again (`pktRcvRetrans`).
        package var packetsRetransmitted: Int64 = 0
        /// Data packets that came too late to be used (`pktRcvBelated`).
        package var packetsBelated: Int64 = 0
        /// Data packets found missing; most come again (`pktRcvLossTotal`).
        package var packetsLost: Int64 = 0
        /// Data packets that did not come in time: holes in the media (`pktRcvDropTotal`).
        package var packetsDropped: Int64 = 0
        /// Data packets that could not be decrypted (`pktRcvUndecryptTotal`).
        package var packetsUndecrypted: Int64 = 0
        /// Bytes of new data packets (`byteRecvUniqueTotal`).
        package var bytesReceived: Int64 = 0

        /// Adds what another connection has counted.
        mutating func add(_ other: Totals) {
            packetsReceived += other.packetsReceived
            packetsUnique += other.packetsUnique
            packetsRetransmitted += other.packetsRetransmitted
            packetsBelated += other.packetsBelated
            packetsLost += other.packetsLost
            packetsDropped += other.packetsDropped
            packetsUndecrypted += other.packetsUndecrypted
            bytesReceived += other.bytesReceived
        }
    }

    /// What holds of a connection at one moment.
    package struct Moment: Sendable, Hashable, Codable {
        /// The round trip, smoothed (`msRTT`).
        package var roundTripMilliseconds: Double
        /// What comes in, in Mbit/s (`mbpsRecvRate`).
        package var receiveRate: Double
        /// What the path could carry, as libsrt estimates, in Mbit/s (`mbpsBandwidth`).
        package var bandwidth: Double
        /// Media that waits to be played out (`msRcvBuf`).
        package var bufferMilliseconds: Int
        /// The same in packets (`pktRcvBuf`).
        package var bufferPackets: Int
        /// Room in the receive buffer (`byteAvailRcvBuf`).
        package var bufferFreeBytes: Int
        /// How long media is held (`msRcvTsbPdDelay`): the larger wish of both sides.
        package var latencyMilliseconds: Int
    }

    /// What was counted so far.
    package var totals = Totals()
    /// What holds now; nil without a connection.
    package var moment: Moment?
    /// Connections so far.
    package var connections: Int64 = 0
    /// Callers that were sent away, by a listener's port as a whole.
    package var callersRejected: Int64 = 0

    /// No connection yet.
    package init() {}
}
