// SPDX-License-Identifier: Apache-2.0

internal import Monitor
internal import Status

/// Metrics of loudness and of the program's alarms.
enum MonitorMetrics {
    static let families: [MetricFamily] = [
        loudness("relay_loudness_momentary_lufs", "Of the last 400 ms; -120 for silence.", \.momentary),
        loudness("relay_loudness_short_term_lufs", "Of the last 3 s; -120 for silence.", \.shortTerm),
        loudness(
            "relay_loudness_integrated_lufs", "Of all since the program began, gated; -70 at least.", \.integrated),
        loudness("relay_loudness_true_peak_dbtp", "The highest true peak since the program began.", \.truePeak),
        .program("relay_loudness_gain_decibels", .gauge, "What brings audio to its loudness now.") { $0.monitor?.gain },
        alarm("relay_alarm_active", .gauge, "Whether the fault is there.") { MetricFamily.number($0.isActive) },
        alarm("relay_alarm_lasting_seconds", .gauge, "How long the fault has lasted; 0 if it is not there.") {
            $0.seconds
        },
        alarm("relay_alarms_total", .counter, "How often the fault was there.") { Double($0.count) },
    ]

    private static func loudness(
        _ name: String, _ help: String, _ value: any KeyPath<LoudnessStatus, Double> & Sendable
    ) -> MetricFamily {
        .program(name, .gauge, help) { $0.monitor?.loudness?[keyPath: value] }
    }

    private static func alarm(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: @escaping @Sendable (AlarmStatus) -> Double
    ) -> MetricFamily {
        .channel(name, kind, help, labels: ["alarm"]) { report, samples in
            guard let monitor = report.status?.monitor else { return }
            samples.add(monitor.silence.map(value), "silence")
            samples.add(monitor.black.map(value), "black")
            samples.add(monitor.frozen.map(value), "frozen")
        }
    }
}
