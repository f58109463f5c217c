// SPDX-License-Identifier: Apache-2.0

/// Statistics from libsrt about an SRT input: counters over all connections, and the state of the current connection.
package struct SRTInputStatistics: Sendable, Hashable, Codable {
    /// Counters, which only increase.
    package struct Totals: Sendable, Hashable, Codable {
        /// The number of data packets, including retransmitted ones (`pktRecvTotal`).
        package var packetsReceived: Int64 = 0
        /// The number of different data packets that could be used, original or retransmitted (`pktRecvUniqueTotal`).
        package var packetsUnique: Int64 = 0
        /// The number of retransmitted data packets (`pktRcvRetrans`).
        package var packetsRetransmitted: Int64 = 0
        /// The number of data packets that arrived too late to be used (`pktRcvBelated`).
        package var packetsBelated: Int64 = 0
        /// The number of data packets that were missing at first. Most of them are retransmitted (`pktRcvLossTotal`).
        package var packetsLost: Int64 = 0
        /// The number of data packets that did not arrive in time. They are gaps in the media (`pktRcvDropTotal`).
        package var packetsDropped: Int64 = 0
        /// The number of data packets that could not be decrypted (`pktRcvUndecryptTotal`).
        package var packetsUndecrypted: Int64 = 0
        /// The number of bytes in different data packets that could be used (`byteRecvUniqueTotal`).
        package var bytesReceived: Int64 = 0

        /// Adds the counters of another connection to the counters in this value.
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
        /// The smoothed round-trip time in milliseconds (`msRTT`).
        package var roundTripMilliseconds: Double
        /// The rate at which data is received, in Mbit/s (`mbpsRecvRate`).
        package var receiveRate: Double
        /// The capacity of the network path as estimated by libsrt, in Mbit/s (`mbpsBandwidth`).
        package var bandwidth: Double
        /// The duration of the media in the receive buffer, in milliseconds (`msRcvBuf`).
        package var bufferMilliseconds: Int
        /// The number of packets in the receive buffer (`pktRcvBuf`).
        package var bufferPackets: Int
        /// The number of free bytes in the receive buffer (`byteAvailRcvBuf`).
        package var bufferFreeBytes: Int
        /// The time for which media is buffered, in milliseconds (`msRcvTsbPdDelay`). It is the larger of both sides'
        /// settings.
        package var latencyMilliseconds: Int
    }

    /// The counters since the input was opened.
    package var totals = Totals()
    /// The state of the current connection; nil without a connection.
    package var moment: Moment?
    /// The number of connections since the input was opened.
    package var connections: Int64 = 0
    /// The number of callers that the listening port has rejected. Inputs that share the port have the same number.
    package var callersRejected: Int64 = 0

    package init() {}
}
