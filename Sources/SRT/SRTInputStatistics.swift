// SPDX-License-Identifier: Apache-2.0

/// libsrt's statistics of an input's connections: counters of all connections, and the state of the current one.
package struct SRTInputStatistics: Sendable, Hashable, Codable {
    /// The counters.
    package struct Totals: Sendable, Hashable, Codable {
        /// Data packets, retransmissions included (`pktRecvTotal`).
        package var packetsReceived: Int64 = 0
        /// Data packets that were new (`pktRecvUniqueTotal`).
        package var packetsUnique: Int64 = 0
        /// Data packets that were sent again (`pktRcvRetrans`).
        package var packetsRetransmitted: Int64 = 0
        /// Data packets that arrived too late to be used (`pktRcvBelated`).
        package var packetsBelated: Int64 = 0
        /// Data packets that were missing at first; most are retransmitted (`pktRcvLossTotal`).
        package var packetsLost: Int64 = 0
        /// Data packets that did not arrive in time: gaps in the media (`pktRcvDropTotal`).
        package var packetsDropped: Int64 = 0
        /// Data packets that could not be decrypted (`pktRcvUndecryptTotal`).
        package var packetsUndecrypted: Int64 = 0
        /// Bytes of new data packets (`byteRecvUniqueTotal`).
        package var bytesReceived: Int64 = 0

        /// Adds the counters of another connection.
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

    /// The state of a connection at one moment.
    package struct Moment: Sendable, Hashable, Codable {
        /// The smoothed round-trip time (`msRTT`).
        package var roundTripMilliseconds: Double
        /// The receive rate, in Mbit/s (`mbpsRecvRate`).
        package var receiveRate: Double
        /// The path's capacity according to libsrt's estimate, in Mbit/s (`mbpsBandwidth`).
        package var bandwidth: Double
        /// Duration of the media in the receive buffer, in milliseconds (`msRcvBuf`).
        package var bufferMilliseconds: Int
        /// Number of packets in the receive buffer (`pktRcvBuf`).
        package var bufferPackets: Int
        /// Free bytes in the receive buffer (`byteAvailRcvBuf`).
        package var bufferFreeBytes: Int
        /// How long media is buffered (`msRcvTsbPdDelay`): the larger of both sides' settings.
        package var latencyMilliseconds: Int
    }

    /// The counters so far.
    package var totals = Totals()
    /// The current state; nil without a connection.
    package var moment: Moment?
    /// Number of connections so far.
    package var connections: Int64 = 0
    /// Number of callers that the whole listening port has rejected.
    package var callersRejected: Int64 = 0

    package init() {}
}
