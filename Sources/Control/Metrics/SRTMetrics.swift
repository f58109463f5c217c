// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Ingest
internal import Media
internal import SRT
internal import Status

/// The statistics of libsrt for outputs (label `output`) and inputs (label `source`). Counters of outputs restart with
/// each connection.
enum SRTMetrics {
    static let families = sent + received + both

    /// One Mbit/s in bytes per second.
    private static let megabit = 125_000.0

    private static let sent: [MetricFamily] = [
        sum("relay_srt_packets_sent_total", "Data packets sent, with retransmissions.", \.packetsSent),
        sum("relay_srt_packets_sent_unique_total", "Data packets sent once.", \.packetsSentUnique),
        sum("relay_srt_packets_retrans_total", "Data packets sent again.", \.packetsRetransmitted),
        sum("relay_srt_packets_send_loss_total", "Packets reported lost.", \.packetsLost),
        sum("relay_srt_packets_send_drop_total", "Packets given up as too late.", \.packetsDropped),
        sum("relay_srt_send_drop_bytes_total", "Bytes given up as too late.", \.bytesDropped),
        sum("relay_srt_packets_received_nak_total", "Reports of loss.", \.reportsReceived),
        now("relay_srt_send_rate_bytes_per_second", "What goes out.") { $0.sendRate * megabit },
        now("relay_srt_max_bw_bytes_per_second", "What libsrt may send at most.") { $0.maximumBandwidth * megabit },
        now("relay_srt_input_bw_bytes_per_second", "The stream's rate that libsrt was told.") {
            $0.inputBandwidth.map { $0 * megabit }
        },
        now("relay_srt_packets_flight_size", "Packets sent and not acknowledged.") { Double($0.packetsInFlight) },
        now("relay_srt_packets_flow_window", "Packets that the receiver allows.") { Double($0.flowWindow) },
        now("relay_srt_send_buf_seconds", "Media that waits for its acknowledgement.") {
            Double($0.sendBufferMilliseconds) / 1000
        },
        now("relay_srt_avail_send_buf_bytes", "Room in the send buffer.") { Double($0.sendBufferFreeBytes) },
    ]

    private static let received: [MetricFamily] = [
        count("relay_srt_packets_received_total", "Data packets received, with retransmissions.", \.packetsReceived),
        count("relay_srt_packets_received_unique_total", "Data packets that were new.", \.packetsUnique),
        count("relay_srt_packets_received_retrans_total", "Data packets sent again.", \.packetsRetransmitted),
        count("relay_srt_packets_received_loss_total", "Packets missing; most come again.", \.packetsLost),
        count("relay_srt_packets_received_drop_total", "Packets not in time: holes in the media.", \.packetsDropped),
        count("relay_srt_packets_received_belated_total", "Packets that came too late to be used.", \.packetsBelated),
        count("relay_srt_packets_received_undecrypt_total", "Packets not decrypted.", \.packetsUndecrypted),
        count("relay_srt_received_unique_bytes_total", "Bytes of new data packets.", \.bytesReceived),
        input("relay_srt_connections_total", .counter, "Connections of the input so far.") { Double($0.connections) },
        input("relay_srt_callers_rejected_total", .counter, "Callers that the input's port sent away.") {
            Double($0.callersRejected)
        },
        input("relay_srt_receive_rate_bytes_per_second", .gauge, "What comes in.") {
            $0.moment.map { $0.receiveRate * megabit }
        },
        input("relay_srt_receive_buf_seconds", .gauge, "Media that waits to be played out.") {
            $0.moment.map { Double($0.bufferMilliseconds) / 1000 }
        },
        input("relay_srt_packets_receive_buf", .gauge, "Packets that wait to be played out.") {
            $0.moment.map { Double($0.bufferPackets) }
        },
        input("relay_srt_avail_receive_buf_bytes", .gauge, "Room in the receive buffer.") {
            $0.moment.map { Double($0.bufferFreeBytes) }
        },
    ]

    private static let both: [MetricFamily] = [
        both("relay_srt_rtt_seconds", "The round trip, smoothed.", { $0.roundTripMilliseconds / 1000 }) {
            $0.roundTripMilliseconds / 1000
        },
        both("relay_srt_link_capacity_bytes_per_second", "What the path could carry.", { $0.bandwidth * megabit }) {
            $0.bandwidth * megabit
        },
        both(
            "relay_srt_latency_seconds", "How long the receiver holds what it gets.",
            { Double($0.latencyMilliseconds) / 1000 }
        ) { Double($0.latencyMilliseconds) / 1000 },
    ]

    /// A metric with one of libsrt's values for each SRT output.
    private static func output(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (SRTStatistics) -> Double?
    ) -> MetricFamily {
        .each(name, kind, help, labels: ["output"], of: \.outputs) { output, samples in
            guard let statistics = output.details.srt else { return }
            samples.add(value(statistics), output.name)
        }
    }

    private static func sum(
        _ name: String, _ help: String, _ value: any KeyPath<SRTStatistics.Totals, Int64> & Sendable
    ) -> MetricFamily {
        output(name, .counter, help) { Double($0.totals[keyPath: value]) }
    }

    private static func now(
        _ name: String, _ help: String, _ value: @escaping @Sendable (SRTStatistics.Moment) -> Double?
    ) -> MetricFamily {
        output(name, .gauge, help) { $0.moment.flatMap(value) }
    }

    private static func input(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (SRTInputStatistics) -> Double?
    ) -> MetricFamily {
        .each(name, kind, help, labels: ["source"], of: SourceMetrics.named) { source, samples in
            samples.add(source.status.srt.flatMap(value), source.name)
        }
    }

    private static func count(
        _ name: String, _ help: String, _ value: any KeyPath<SRTInputStatistics.Totals, Int64> & Sendable
    ) -> MetricFamily {
        input(name, .counter, help) { Double($0.totals[keyPath: value]) }
    }

    private static func both(
        _ name: String, _ help: String, _ output: @escaping @Sendable (SRTStatistics.Moment) -> Double,
        _ input: @escaping @Sendable (SRTInputStatistics.Moment) -> Double
    ) -> MetricFamily {
        .channel(name, .gauge, help, labels: ["output", "source"]) { report, samples in
            guard let status = report.status else { return }
            for each in status.outputs {
                guard let statistics = each.details.srt else { continue }
                samples.add(statistics.moment.map(output), each.name, nil)
            }
            for source in SourceMetrics.named(status) {
                samples.add(source.status.srt?.moment.map(input), nil, source.name)
            }
        }
    }
}
