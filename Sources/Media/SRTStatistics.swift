// SPDX-License-Identifier: Apache-2.0

/// libsrt's statistics about sending on a connection, or to all callers of a listener together.
package struct SRTStatistics: Sendable, Equatable {
    /// Counters since the connection began.
    package struct Totals: Sendable, Codable, Equatable {
        /// Data packets that were sent, including retransmissions (`pktSentTotal`).
        package var packetsSent: Int64 = 0
        /// Data packets that were sent, without retransmissions (`pktSentUniqueTotal`).
        package var packetsSentUnique: Int64 = 0
        /// Data packets that were sent again (`pktRetransTotal`).
        package var packetsRetransmitted: Int64 = 0
        /// Data packets that the receiver reported lost (`pktSndLossTotal`).
        package var packetsLost: Int64 = 0
        /// Data packets that were dropped because they would have arrived too late (`pktSndDropTotal`).
        package var packetsDropped: Int64 = 0
        /// The number of bytes in the dropped packets (`byteSndDropTotal`).
        package var bytesDropped: Int64 = 0
        /// Loss reports from the receiver (`pktRecvNAKTotal`).
        package var reportsReceived: Int64 = 0

        /// The JSON names of the counters. They must not change, because operators rely on them. `_total` marks
        /// counters since the beginning of the connection.
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

        package init() {}

        /// Adds `other`, the counters of another connection, to these counters.
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

    /// The state of a connection at one moment.
    package struct Moment: Sendable, Codable, Equatable {
        /// The smoothed round-trip time, in milliseconds (`msRTT`).
        package var roundTripMilliseconds: Double
        /// The send rate, including retransmissions, in Mbit/s (`mbpsSendRate`).
        package var sendRate: Double
        /// The path's capacity as the receiver estimates it, in Mbit/s (`mbpsBandwidth`).
        package var bandwidth: Double
        /// The library's limit for the send rate, in Mbit/s (`mbpsMaxBW`).
        package var maximumBandwidth: Double
        /// The bitrate of the stream, in Mbit/s, that relay set in the library (`SRTO_INPUTBW`); nil if relay sets
        /// none, because the output's address has `inputbw` or `maxbw`.
        package var inputBandwidth: Double?
        /// Data packets that were sent but not acknowledged yet (`pktFlightSize`).
        package var packetsInFlight: Int
        /// The receiver's limit for packets in flight (`pktFlowWindow`).
        package var flowWindow: Int
        /// Duration of the media that waits for its acknowledgement, in milliseconds (`msSndBuf`).
        package var sendBufferMilliseconds: Int
        /// Free bytes in the library's send buffer (`byteAvailSndBuf`).
        package var sendBufferFreeBytes: Int
        /// How long the receiver buffers the data that it receives, in milliseconds (`msSndTsbPdDelay`).
        package var latencyMilliseconds: Int

        /// The JSON names of the values. They must not change, because operators rely on them.
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

        /// The state of a connection, as libsrt reports it now.
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

        /// Merges another caller's state. Send rates are added. The smaller value of bandwidth, flow window and free
        /// buffer is kept, and the larger value of everything else.
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

    /// The counters since the connection began.
    package var totals = Totals()
    /// The current state; nil without a connection.
    package var moment: Moment?

    package init() {}

    /// Merges the statistics of several callers. Counters and send rates are added. The smallest value of bandwidth,
    /// flow window and free buffer is kept, and the largest value of everything else. `past` contains the counters of
    /// callers that have disconnected.
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
