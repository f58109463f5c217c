// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@testable import FanOut

@Suite("Protocol-specific numbers of an output")
struct OutputDetailsTests {
    private let segments = OutputNumber("segments", metric: "relay_output_segments_total", "Segments written.")
    private let errors = OutputNumber("send_errors", metric: "relay_output_send_errors_total", "Not sent.")

    private func keys(_ details: OutputDetails) throws -> Set<String> {
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(details))
        return Set((object as? [String: Any] ?? [:]).keys)
    }

    private var caller: OutputDetails {
        var details = OutputDetails()
        details.receivers = .init(
            .callers, count: 2, total: 7, refused: 1, queueMilliseconds: 40, droppedFrames: 3)
        var statistics = SRTStatistics()
        statistics.totals.packetsSent = 700
        statistics.moment = .init(
            roundTripMilliseconds: 12.5, sendRate: 8, bandwidth: 50, maximumBandwidth: 100, inputBandwidth: 7,
            packetsInFlight: 1, flowWindow: 8192, sendBufferMilliseconds: 20, sendBufferFreeBytes: 1_000_000,
            latencyMilliseconds: 120)
        details.srt = statistics
        return details
    }

    @Test("The status numbers of each protocol keep their names in one flat JSON object")
    func names() throws {
        #expect(try keys(OutputDetails()).isEmpty)
        #expect(
            try keys(caller) == [
                "callers", "callers_total", "callers_rejected_total", "caller_queue_ms", "caller_dropped_frames",
                "packets_sent_total", "packets_sent_unique_total", "packets_retransmitted_total",
                "packets_lost_total", "packets_dropped_total", "dropped_bytes_total", "naks_received_total", "rtt_ms",
                "send_rate_mbps", "bandwidth_mbps", "max_bw_mbps", "input_bw_mbps", "flight_packets",
                "flow_window_packets", "snd_buf_ms", "snd_buf_free_bytes", "latency_ms",
            ])
        var players = OutputDetails()
        (players.receivers, players.connectionRoundTrip) = (.init(.players), 8)
        #expect(
            try keys(players) == [
                "players", "players_total", "players_refused_total", "player_queue_ms", "player_dropped_frames",
                "rtt_ms",
            ])
        var files = OutputDetails()
        files.set(segments, to: 3)
        files.set(errors, to: 4)
        #expect(try keys(files) == ["segments", "send_errors"])
    }

    @Test("The status numbers of an output are decoded from JSON as they were encoded")
    func roundTrip() throws {
        var offline = OutputDetails()
        offline.srt = SRTStatistics()
        var others = OutputDetails()
        others.set(segments, to: 3)
        others.set(errors, to: 4)
        others.connectionRoundTrip = 1.5
        others.receivers = .init(.players, count: 1, total: 2)
        for details in [OutputDetails(), caller, offline, others] {
            #expect(try JSONDecoder().decode(OutputDetails.self, from: JSONEncoder().encode(details)) == details)
        }
    }
}
