// SPDX-License-Identifier: Apache-2.0

/// What libsrt says of a connection, or of all callers of a listener together.
package struct SRTStatistics: Sendable, Equatable {
    /// What is counted from a connection's beginning.
    package struct Totals: Sendable, Equatable {
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
    package struct Moment: Sendable, Equatable {
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

    /// The numbers by the names that an operator sees. Names do not change; `_total` counts from the connection's
    /// beginning.
    package var details: [String: Double] {
        var details = [
            "packets_sent_total": Double(totals.packetsSent),
            "packets_sent_unique_total": Double(totals.packetsSentUnique),
            "packets_retransmitted_total": Double(totals.packetsRetransmitted),
            "packets_lost_total": Double(totals.packetsLost),
            "packets_dropped_total": Double(totals.packetsDropped),
            "dropped_bytes_total": Double(totals.bytesDropped),
            "naks_received_total": Double(totals.reportsReceived),
        ]
        guard let moment else { return details }
        details["rtt_ms"] = moment.roundTripMilliseconds
        details["send_rate_mbps"] = moment.sendRate
        details["bandwidth_mbps"] = moment.bandwidth
        details["max_bw_mbps"] = moment.maximumBandwidth
        details["input_bw_mbps"] = moment.inputBandwidth
        details["flight_packets"] = Double(moment.packetsInFlight)
        details["flow_window_packets"] = Double(moment.flowWindow)
        details["snd_buf_ms"] = Double(moment.sendBufferMilliseconds)
        details["snd_buf_free_bytes"] = Double(moment.sendBufferFreeBytes)
        details["latency_ms"] = Double(moment.latencyMilliseconds)
        return details
    }
}
