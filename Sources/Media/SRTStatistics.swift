// SPDX-License-Identifier: Apache-2.0

/// What libsrt says of a connection, or of all callers of a listener together.
package struct SRTStatistics: Sendable, Equatable {
    /// What is counted from a connection's beginning.
    package struct Totals: Sendable, Codable, Equatable {
        /// Data packets, retransmissions included (`pktSentTotal`).
        package var packetsSent: Int64 = 0
        /// Data packets without retransmissions (`pktSentUniqueTotal`).
        package var packetsSentUnique: Int64 = 0
        /// Data packets sent again (`pktRetransTotal`).
        package var packetsRetransmitted: Int64 = 0
        /// Data packets that the receiver reported lost (`pktSndLossTotal`).
        package var packetsLost: Int64 = 0
        /// Data packets that the library gave up as too late (`pktSndDropTotal`).
        package var packetsDropped: Int64 = 0
        /// The bytes in them (`byteSndDropTotal`).
        package var bytesDropped: Int64 = 0
        /// Loss reports (`pktRecvNAKTotal`).
        package var reportsReceived: Int64 = 0

        /// The names that operators see; they do not change. `_total` counts from the connection's beginning.
        private enum CodingKeys: String, CodingKey, CaseIterable {
            case packetsSent = "packets_sent_total"
            case packetsSentUnique = "packets_sent_unique_total"
            case packetsRetransmitted = "packets_retransmitted_total"
            case packetsLost = "packets_lost_total"
            case packetsDropped = "packets_dropped_total"
            case bytesDropped = "dropped_bytes_total"
            case reportsReceived = "naks_received_total"
        }

        package static let names = CodingKeys.allCases.map(\.rawValue)

        /// Nothing counted yet.
        package init() {}

        /// Adds what another connection has counted.
        package mutating func add(_ other: Totals) {
            packetsSent += other.packetsSent
            packetsSentUnique += other.packetsSentUnique
            packetsRetransmitted += other.packetsRetransmitted
            packetsLost += other.packetsLost
            packetsDropped += other.packetsDropped
            bytesDropped += other.bytesDropped
            reportsReceived += other.reportsReceived
        }
    }

    /// What holds of a connection at one moment.
    package struct Moment: Sendable, Codable, Equatable {
        /// The round trip, smoothed (`msRTT`).
        package var roundTripMilliseconds: Double
        /// What goes out, retransmissions included, in Mbit/s (`mbpsSendRate`).
        package var sendRate: Double
        /// What the path could carry, as the receiver estimates, in Mbit/s (`mbpsBandwidth`).
        package var bandwidth: Double
        /// What the library may send at most, in Mbit/s (`mbpsMaxBW`).
        package var maximumBandwidth: Double
        /// The stream's rate that the library was told, in Mbit/s (`SRTO_INPUTBW`); nil if the address gives one.
        package var inputBandwidth: Double?
        /// Data packets sent and not acknowledged (`pktFlightSize`).
        package var packetsInFlight: Int
        /// How many of them the receiver allows (`pktFlowWindow`).
        package var flowWindow: Int
        /// Media that waits for its acknowledgement (`msSndBuf`).
        package var sendBufferMilliseconds: Int
        /// Room in the library's send buffer (`byteAvailSndBuf`).
        package var sendBufferFreeBytes: Int
        /// How long the receiver holds what it gets (`msSndTsbPdDelay`).
        package var latencyMilliseconds: Int

        /// The names that operators see; they do not change.
        private enum CodingKeys: String, CodingKey, CaseIterable {
            case roundTripMilliseconds = "rtt_ms"
            case sendRate = "send_rate_mbps"
            case bandwidth = "bandwidth_mbps"
            case maximumBandwidth = "max_bw_mbps"
            case inputBandwidth = "input_bw_mbps"
            case packetsInFlight = "flight_packets"
            case flowWindow = "flow_window_packets"
            case sendBufferMilliseconds = "snd_buf_ms"
            case sendBufferFreeBytes = "snd_buf_free_bytes"
            case latencyMilliseconds = "latency_ms"
        }

        package static let names = CodingKeys.allCases.map(\.rawValue)

        /// What libsrt says of a connection now.
        package init(
            roundTripMilliseconds: Double, sendRate: Double, bandwidth: Double, maximumBandwidth: Double,
            inputBandwidth: Double? = nil, packetsInFlight: Int, flowWindow: Int, sendBufferMilliseconds: Int,
            sendBufferFreeBytes: Int, latencyMilliseconds: Int
        ) {
            self.roundTripMilliseconds = roundTripMilliseconds
            (self.sendRate, self.bandwidth, self.maximumBandwidth) = (sendRate, bandwidth, maximumBandwidth)
            (self.inputBandwidth, self.packetsInFlight) = (inputBandwidth, packetsInFlight)
            (self.flowWindow, self.sendBufferMilliseconds) = (flowWindow, sendBufferMilliseconds)
            (self.sendBufferFreeBytes, self.latencyMilliseconds) = (sendBufferFreeBytes, latencyMilliseconds)
        }

        /// Takes in another caller's moment: rates add up, of the rest the worse stays.
        mutating func join(_ other: Moment) {
            sendRate += other.sendRate
            roundTripMilliseconds = max(roundTripMilliseconds, other.roundTripMilliseconds)
            bandwidth = min(bandwidth, other.bandwidth)
            maximumBandwidth = max(maximumBandwidth, other.maximumBandwidth)
            inputBandwidth = [inputBandwidth, other.inputBandwidth].compactMap(\.self).max()
            packetsInFlight = max(packetsInFlight, other.packetsInFlight)
            flowWindow = min(flowWindow, other.flowWindow)
            sendBufferMilliseconds = max(sendBufferMilliseconds, other.sendBufferMilliseconds)
            sendBufferFreeBytes = min(sendBufferFreeBytes, other.sendBufferFreeBytes)
            latencyMilliseconds = max(latencyMilliseconds, other.latencyMilliseconds)
        }
    }

    /// What was counted so far.
    package var totals = Totals()
    /// What holds now; nil without a connection.
    package var moment: Moment?

    /// No connection yet.
    package init() {}

    /// Several callers' numbers as one: counts and rates add up, of the rest the worst is shown. `past` is what those
    /// that left had counted.
    package static func merged(_ all: [SRTStatistics], past: Totals = Totals()) -> SRTStatistics {
        var result = SRTStatistics()
        result.totals = past
        for statistics in all {
            result.totals.add(statistics.totals)
            guard let moment = statistics.moment else { continue }
            if result.moment == nil { result.moment = moment } else { result.moment?.join(moment) }
        }
        return result
    }
}
