// SPDX-License-Identifier: Apache-2.0

internal import CSRT

/// The numbers of an SRT connection that an operator sees, by the names of ``AttemptProgress/details``. Names do not
/// change; `_total` counts from the connection's beginning.
///
/// | name | what it is (libsrt's own name) |
/// |---|---|
/// | `rtt_ms` | the round trip, smoothed (`msRTT`) |
/// | `send_rate_mbps` | what goes out, retransmissions included (`mbpsSendRate`) |
/// | `bandwidth_mbps` | what the path could carry, as the receiver estimates (`mbpsBandwidth`) |
/// | `max_bw_mbps` | what the library may send at most (`mbpsMaxBW`) |
/// | `packets_sent_total` | data packets, retransmissions included (`pktSentTotal`) |
/// | `packets_sent_unique_total` | data packets without retransmissions (`pktSentUniqueTotal`) |
/// | `packets_retransmitted_total` | data packets sent again (`pktRetransTotal`) |
/// | `packets_lost_total` | data packets that the receiver reported lost (`pktSndLossTotal`) |
/// | `dropped_bytes_total` | bytes that the library gave up as too late (`byteSndDropTotal`) |
/// | `dropped_frames_total` | frames that these bytes were worth, rounded up; a listener adds its callers' queues' |
/// | `naks_received_total` | loss reports (`pktRecvNAKTotal`) |
/// | `flight_packets` | data packets sent and not acknowledged (`pktFlightSize`) |
/// | `flow_window_packets` | how many of them the receiver allows (`pktFlowWindow`) |
/// | `snd_buf_ms` | media that waits for its acknowledgement (`msSndBuf`) |
/// | `snd_buf_free_bytes` | room in the library's send buffer (`byteAvailSndBuf`) |
/// | `latency_ms` | how long the receiver holds what it gets (`msSndTsbPdDelay`) |
/// | `input_bw_mbps` | the stream's rate that the library was told (`SRTO_INPUTBW`) |
///
/// A listener shows the sum of what is counted, with callers that left, and of `send_rate_mbps`, the worst caller's of
/// the rest, and `callers`, `callers_total`, `callers_rejected_total`, and for the worst caller `caller_queue_ms` and
/// `caller_dropped_frames`.
package enum SRTStatistics {
    /// The numbers that add up over callers.
    private static let sums: Set<String> = [
        "send_rate_mbps", "packets_sent_total", "packets_sent_unique_total", "packets_retransmitted_total",
        "packets_lost_total", "dropped_bytes_total", "dropped_frames_total", "naks_received_total",
    ]
    /// The numbers of which the smallest is the worst.
    private static let minima: Set<String> = ["bandwidth_mbps", "flow_window_packets", "snd_buf_free_bytes"]

    /// Several callers' numbers as one; `past` is what those that left had counted.
    package static func merged(_ all: [[String: Double]], past: [String: Double] = [:]) -> [String: Double] {
        var result: [String: Double] = [:]
        for details in all { result.merge(details, uniquingKeysWith: max) }
        for name in sums where result[name] != nil { result[name] = all.compactMap { $0[name] }.reduce(0, +) }
        for name in minima where result[name] != nil { result[name] = all.compactMap { $0[name] }.min() }
        return result.merging(totals(of: [past]), uniquingKeysWith: +)
    }

    /// The sums of what is counted from a connection's beginning.
    package static func totals(of all: [[String: Double]]) -> [String: Double] {
        all.reduce(into: [:]) { sum, details in
            sum.merge(details.filter { $0.key.hasSuffix("_total") }, uniquingKeysWith: +)
        }
    }
}

extension SRTSocket {
    /// The numbers of the table above that the library counts.
    package func statistics() -> [String: Double] {
        var stats = SRT_TRACEBSTATS()
        guard srt_bistats(handle, &stats, 0, 1) == 0 else { return [:] }
        return [
            "rtt_ms": stats.msRTT, "send_rate_mbps": stats.mbpsSendRate, "bandwidth_mbps": stats.mbpsBandwidth,
            "max_bw_mbps": stats.mbpsMaxBW, "packets_sent_total": Double(stats.pktSentTotal),
            "packets_sent_unique_total": Double(stats.pktSentUniqueTotal),
            "packets_retransmitted_total": Double(stats.pktRetransTotal),
            "packets_lost_total": Double(stats.pktSndLossTotal),
            "dropped_bytes_total": Double(stats.byteSndDropTotal),
            "naks_received_total": Double(stats.pktRecvNAKTotal), "flight_packets": Double(stats.pktFlightSize),
            "flow_window_packets": Double(stats.pktFlowWindow), "snd_buf_ms": Double(stats.msSndBuf),
            "snd_buf_free_bytes": Double(stats.byteAvailSndBuf), "latency_ms": Double(stats.msSndTsbPdDelay),
        ]
    }

    /// Tells the library the stream's rate, in bytes a second.
    package func setInputRate(_ rate: Int64) { set(SRTO_INPUTBW, rate) }

    /// What retransmissions, the packet filter and a backlog may add to the stream's rate, in percent.
    package func setOverhead(_ percent: CInt) { set(SRTO_OHEADBW, percent) }
}
