// SPDX-License-Identifier: Apache-2.0

internal import Status

/// What metrics are made of: values of one moment.
struct MetricsSnapshot: Sendable {
    var channels: [ChannelReport]
    /// relay's.
    var version: String
    /// Wrong tokens that were shown.
    var failedLogins: Int
    /// Until when the HTTP server's certificate is valid, in seconds since 1970; nil without TLS.
    var certificateExpiry: Int?
    /// What the process takes; nil if the system does not tell.
    var process: ProcessUsage?
    /// What each webhook did.
    var webhooks: [WebhookStatus] = []
}

/// A metric of one name: what it is, and how its samples are read from a snapshot.
struct MetricFamily: Sendable {
    /// Prometheus' types, as far as they are used.
    enum Kind: String, Sendable {
        /// Only grows, but for a fresh start at 0.
        case counter
        /// A value of this moment.
        case gauge
        /// Counts by size, with their sum.
        case histogram
    }

    /// A gauge that is 1 of one state and 0 of all others has these for the values of its last label.
    static func number(_ isTrue: Bool) -> Double { isTrue ? 1 : 0 }

    let name: String
    let kind: Kind
    /// The labels, in their order.
    let labels: [String]
    /// One line for an operator who reads it for the first time.
    let help: String
    let read: @Sendable (MetricsSnapshot, inout MetricSamples) -> Void
}

// MARK: Families of each channel

extension MetricFamily {
    /// One with samples of each channel; `labels` come behind `channel`.
    static func channel(
        _ name: String, _ kind: Kind, _ help: String, labels: [String] = [],
        _ read: @escaping @Sendable (ChannelReport, inout MetricSamples) -> Void
    ) -> MetricFamily {
        MetricFamily(name: name, kind: kind, labels: ["channel"] + labels, help: help) { snapshot, samples in
            for report in snapshot.channels {
                samples.first = [report.name]
                read(report, &samples)
            }
        }
    }

    /// One with a sample of each channel that has a program.
    static func program(
        _ name: String, _ kind: Kind, _ help: String, _ value: @escaping @Sendable (ChannelStatus) -> Double?
    ) -> MetricFamily {
        channel(name, kind, help) { report, samples in samples.add(report.status.flatMap(value)) }
    }

    /// One with a sample of each of the things that `all` finds, labelled as `labels` says behind `channel`.
    static func each<Item>(
        _ name: String, _ kind: Kind, _ help: String, labels: [String],
        of all: @escaping @Sendable (ChannelStatus) -> [Item],
        _ read: @escaping @Sendable (Item, inout MetricSamples) -> Void
    ) -> MetricFamily {
        channel(name, kind, help, labels: labels) { report, samples in
            for item in report.status.map(all) ?? [] { read(item, &samples) }
        }
    }
}

/// Samples as Prometheus text, version 0.0.4: of one family after the other.
struct MetricSamples {
    /// The text so far.
    private(set) var text = ""
    /// The values of the first labels, for all samples that follow.
    var first: [String] = []

    private var family = ""
    private var labels: [String] = []
    private var header = ""

    /// Begins a family. For a family without samples nothing is written.
    mutating func begin(_ family: MetricFamily) {
        (self.family, labels, first) = (family.name, family.labels, [])
        header =
            "# HELP \(family.name) \(Self.escapedHelp(family.help))\n# TYPE \(family.name) \(family.kind.rawValue)\n"
    }

    /// Writes a sample with the values of the labels behind ``first``; a label without a value is left out. Writes
    /// nothing without a value.
    mutating func add(_ value: Double?, _ values: String?...) {
        guard let value else { return }
        write("", values, value)
    }

    /// A sample for each of `all`: 1 of `current`, 0 of the others. `all` are the values of the last label, `values` of those
    /// between it and ``first``.
    mutating func choose(_ current: String?, among all: [String], _ values: String?...) {
        for value in all { write("", values + [value], MetricFamily.number(value == current)) }
    }

    /// A histogram: `counts` of those up to each of `bounds`, of all together, and their sum.
    mutating func add(counts: [Int], bounds: [Double], count: Int, sum: Double) {
        labels.append("le")
        for (bound, seen) in zip(bounds, counts) { write("_bucket", [Self.number(bound)], Double(seen)) }
        write("_bucket", ["+Inf"], Double(count))
        labels.removeLast()
        write("_sum", [], sum)
        write("_count", [], Double(count))
    }

    private mutating func write(_ suffix: String, _ values: [String?], _ value: Double) {
        text += header
        header = ""
        text += family
        text += suffix
        var separator = "{"
        for (label, value) in zip(labels, first + values) {
            guard let value else { continue }
            text += separator
            text += label
            text += "=\""
            text += Self.escaped(value)
            text += "\""
            separator = ","
        }
        if separator == "," { text += "}" }
        text += " "
        text += Self.number(value)
        text += "\n"
    }

    /// A label's value: backslash, quote and line feed are escaped.
    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return text }
        return text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            // One character by Unicode, and a line feed in it nevertheless.
            case "\r\n": result += "\r\\n"
            default: result.append(character)
            }
        }
    }

    /// A help text: backslash and line feed are escaped.
    static func escapedHelp(_ text: String) -> String {
        text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
            .split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
    }

    /// A value as text: whole numbers have no fraction, and NaN and infinities are spelled as in Prometheus.
    static func number(_ value: Double) -> String {
        // Above it not every whole number is a double.
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return "\(value)"
    }
}
