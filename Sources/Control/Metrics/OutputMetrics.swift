// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Publisher
internal import Status

/// Metrics of the live outputs.
enum OutputMetrics {
    static let families = states + sent + numbers + connections + queues + receivers

    private static let states: [MetricFamily] = [
        each("relay_output_info", .gauge, "The output's protocol and who asked for it.", labels: ["kind", "origin"]) {
            output, samples in samples.add(1, output.name, output.kind.rawValue, output.origin.rawValue)
        },
        each("relay_output_state", .gauge, "What the output does: 1 of its state, 0 of the others.", labels: ["state"])
        {
            output, samples in
            samples.choose(output.state.rawValue, among: OutputState.Name.allCases.map(\.rawValue), output.name)
        },
        each(
            "relay_output_endpoint", .gauge, "Which of the output's addresses is in use: 1 of it, 0 of the others.",
            labels: ["endpoint"]
        ) { output, samples in
            samples.choose(output.endpoint.rawValue, among: OutputEndpoint.allCases.map(\.rawValue), output.name)
        },
        one("relay_output_live_seconds", .gauge, "How long the output has been on air; 0 when it is not.") {
            $0.liveSeconds
        },
        one("relay_output_attempts_total", .counter, "Attempts to be on air.") { Double($0.attempts) },
        one("relay_output_reconnects_total", .counter, "Times the output came back on air after the first.") {
            Double($0.reconnects)
        },
        one("relay_output_consecutive_failures", .gauge, "Attempts in a row that failed.") { Double($0.failures) },
        one("relay_output_next_attempt_seconds", .gauge, "Until the next attempt; absent if none is waited for.") {
            $0.nextAttemptSeconds
        },
    ]

    private static let sent: [MetricFamily] = [
        one("relay_output_sent_bytes_total", .counter, "Bytes sent, over all connections.") { Double($0.bytes) },
        one("relay_output_sent_frames_total", .counter, "Frames sent, over all connections.") { Double($0.frames) },
    ]

    /// The metrics that each kind of output defines.
    private static let numbers: [MetricFamily] = OutputKind.all.flatMap(\.numbers).map { number in
        one(number.metric, number.isCounter ? .counter : .gauge, number.help) { $0.details.value(of: number) }
    }

    private static let connections: [MetricFamily] = [
        one("relay_output_round_trip_seconds", .gauge, "The connection's round trip, where the protocol tells it.") {
            $0.roundTripSeconds
        },
        one("relay_output_keyframes_requested_total", .counter, "Keyframes that the output asked for.") {
            Double($0.keyframesRequested)
        },
    ]

    private static let queues: [MetricFamily] = [
        one("relay_output_queue_seconds", .gauge, "Media that waits for the output.") {
            Double($0.queue.milliseconds) / 1000
        },
        one("relay_output_queue_limit_seconds", .gauge, "Media at which the queue is emptied.") {
            $0.queue.boundMilliseconds > 0 ? Double($0.queue.boundMilliseconds) / 1000 : nil
        },
        one("relay_output_queue_bytes", .gauge, "Bytes that wait for the output.") { Double($0.queue.bytes) },
        each(
            "relay_output_dropped_packets_total", .counter, "Packets that did not reach the output, by cause.",
            labels: ["cause"]
        ) { output, samples in
            for cause in DropCause.allCases {
                samples.add(Double(output.queue.drops[cause] ?? 0), output.name, cause.rawValue)
            }
        },
        one("relay_output_dropped_frames_total", .counter, "Frames that did not reach the output.") {
            Double($0.queue.droppedFrames)
        },
    ]

    /// Metrics of outputs that listen: their SRT callers and RTMP players.
    private static let receivers: [MetricFamily] = [
        one("relay_output_receivers", .gauge, "Receivers of an output that listens.") {
            $0.details.receivers.map { Double($0.count) }
        },
        one("relay_output_receivers_total", .counter, "Receivers so far of an output that listens.") {
            $0.details.receivers.map { Double($0.total) }
        },
        one("relay_output_receivers_refused_total", .counter, "Receivers that an output sent away.") {
            $0.details.receivers.map { Double($0.refused) }
        },
        one("relay_output_receiver_queue_seconds", .gauge, "Media that waits for the slowest receiver.") {
            $0.details.receivers.map { Double($0.queueMilliseconds) / 1000 }
        },
        one("relay_output_receiver_dropped_frames", .gauge, "Frames that the worst of the present receivers missed.") {
            $0.details.receivers.map { Double($0.droppedFrames) }
        },
    ]

    private static func each(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, labels: [String],
        _ read: @escaping @Sendable (OutputStatus, inout MetricSamples) -> Void
    ) -> MetricFamily {
        .each(name, kind, help, labels: ["output"] + labels, of: \.outputs, read)
    }

    private static func one(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (OutputStatus) -> Double?
    ) -> MetricFamily {
        each(name, kind, help, labels: []) { output, samples in samples.add(value(output), output.name) }
    }
}
