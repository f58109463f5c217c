// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Ingest
internal import SRT
internal import Status

/// What libsrt says of outputs (label `output`) and of inputs (label `source`). Counters of outputs begin again with each
/// connection.
enum SRTMetrics {
    static let families = sent + received + both

    /// Bits of a Mbit/s in bytes a second.
    private static let megabit = 125_000.0

    private static let sent: [MetricFamily] = [
        output(
            "relay_srt_packets_sent_total", .counter, "Data packets sent, with retransmissions.", "packets_sent_total"),
        output("relay_srt_packets_sent_unique_total", .counter, "Data packets sent once.", "packets_sent_unique_total"),
        output("relay_srt_packets_retrans_total", .counter, "Data packets sent again.", "packets_retransmitted_total"),
        output("relay_srt_packets_send_loss_total", .counter, "Packets reported lost.", "packets_lost_total"),
        output("relay_srt_packets_send_drop_total", .counter, "Packets given up as too late.", "packets_dropped_total"),
        output("relay_srt_send_drop_bytes_total", .counter, "Bytes given up as too late.", "dropped_bytes_total"),
        output("relay_srt_packets_received_nak_total", .counter, "Reports of loss.", "naks_received_total"),
        output("relay_srt_send_rate_bytes_per_second", .gauge, "What goes out.", "send_rate_mbps", megabit),
        output("relay_srt_max_bw_bytes_per_second", .gauge, "What libsrt may send at most.", "max_bw_mbps", megabit),
        output(
            "relay_srt_input_bw_bytes_per_second", .gauge, "The stream's rate that libsrt was told.", "input_bw_mbps",
            megabit),
        output("relay_srt_packets_flight_size", .gauge, "Packets sent and not acknowledged.", "flight_packets"),
        output("relay_srt_packets_flow_window", .gauge, "Packets that the receiver allows.", "flow_window_packets"),
        output("relay_srt_send_buf_seconds", .gauge, "Media that waits for its acknowledgement.", "snd_buf_ms", 0.001),
        output("relay_srt_avail_send_buf_bytes", .gauge, "Room in the send buffer.", "snd_buf_free_bytes"),
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
        both("relay_srt_rtt_seconds", "The round trip, smoothed.", "rtt_ms", 0.001) { $0.roundTripMilliseconds },
        both("relay_srt_link_capacity_bytes_per_second", "What the path could carry.", "bandwidth_mbps", megabit) {
            $0.bandwidth
        },
        both("relay_srt_latency_seconds", "How long the receiver holds what it gets.", "latency_ms", 0.001) {
            Double($0.latencyMilliseconds)
        },
    ]

    /// Of outputs: what they count under `key`, times `factor`.
    private static func output(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ key: String, _ factor: Double = 1
    ) -> MetricFamily {
        .each(name, kind, help, labels: ["output"], of: \.outputs) { output, samples in
            guard output.kind == "srt" else { return }
            samples.add(output.details[key].map { $0 * factor }, output.name)
        }
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
        _ name: String, _ help: String, _ key: String, _ factor: Double,
        _ value: @escaping @Sendable (SRTInputStatistics.Moment) -> Double
    ) -> MetricFamily {
        .channel(name, .gauge, help, labels: ["output", "source"]) { report, samples in
            guard let status = report.status else { return }
            for output in status.outputs where output.kind == "srt" {
                samples.add(output.details[key].map { $0 * factor }, output.name, nil)
            }
            for source in SourceMetrics.named(status) {
                samples.add(source.status.srt?.moment.map { value($0) * factor }, nil, source.name)
            }
        }
    }
}
