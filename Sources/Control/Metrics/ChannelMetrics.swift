// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Status

/// Metrics of channels as a whole, and of the input on air.
enum ChannelMetrics {
    private static let selections = ["primary", "backup", "slate", "none"]

    static let families: [MetricFamily] = [
        .channel(
            "relay_channel_state", .gauge, "What the channel does: 1 of its state, 0 of the others.", labels: ["state"]
        ) { report, samples in
            samples.choose(report.state.rawValue, among: ChannelReport.State.allCases.map(\.rawValue))
        },
        .channel("relay_channel_on_air", .gauge, "Whether an output of the channel is live.") { report, samples in
            samples.add(MetricFamily.number(report.isOnAir))
        },
        .channel("relay_channel_problems", .gauge, "How much is wrong: outputs, sources, alarms, recording, disk.") {
            report, samples in samples.add(Double(report.problems))
        },
        .channel(
            "relay_channel_start_timestamp_seconds", .gauge, "When the program began, in seconds since 1970."
        ) { report, samples in samples.add(report.startedAt.map { Double($0.milliseconds) / 1000 }) },
        .channel("relay_channel_program_seconds_total", .counter, "Length of the program so far.") {
            report, samples in samples.add(report.programSeconds)
        },
        .channel(
            "relay_selection_state", .gauge, "Whether the first input, another one, the slate or nothing is on air.",
            labels: ["state"]
        ) { report, samples in
            guard let selection = report.status?.selection else { return }
            samples.choose(state(of: selection), among: selections)
        },
        .channel(
            "relay_selection_on_air", .gauge, "Which input is on air: 1 of it, 0 of the others.", labels: ["input"]
        ) { report, samples in
            guard let selection = report.status?.selection else { return }
            samples.choose(selection.onAir, among: selection.inputs + ["slate"])
        },
        .program("relay_selection_switches_total", .counter, "How often the input on air changed.") {
            $0.selection.map { Double($0.switches) }
        },
    ]

    private static func state(of selection: SelectionStatus) -> String {
        guard selection.onAir != nil else { return "none" }
        return selection.number.map { $0 == 0 ? "primary" : "backup" } ?? "slate"
    }
}
