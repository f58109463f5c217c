// SPDX-License-Identifier: Apache-2.0

internal import Status

/// The values at one moment, from which metrics are made.
struct MetricsSnapshot: Sendable {
    var channels: [ChannelReport]
    /// The version of relay.
    var version: String
    /// The number of requests with a wrong token.
    var failedLogins: Int
    /// The number of wrong stream keys, stream IDs and passphrases, by protocol.
    var wrongStreamKeys: [String: UInt64] = [:]
    /// How many times a server stopped accepting connections because few descriptors were free.
    var acceptPauses: UInt64 = 0
    /// When the HTTP server's certificate expires, in seconds since 1970; nil without TLS.
    var certificateExpiry: Int?
    /// The resources that the process uses; nil if the system does not report them.
    var process: ProcessUsage?
    /// The state of each webhook.
    var webhooks: [WebhookStatus] = []
}

/// A metric, its description, and the function that reads its samples from a snapshot.
struct MetricFamily: Sendable {
    /// The Prometheus types that are used here.
    enum Kind: String, Sendable {
        /// A value that only grows; it may restart at 0.
        case counter
        /// A current value.
        case gauge
        /// The number of values in each bucket, with the sum of the values.
        case histogram
    }

    /// Returns 1 or 0, for a gauge that is 1 for the current state and 0 for all others.
    static func number(_ isTrue: Bool) -> Double { isTrue ? 1 : 0 }

    let name: String
    let kind: Kind
    /// The names of the labels, in order.
    let labels: [String]
    /// One line for an operator who does not know the metric.
    let help: String
    let read: @Sendable (MetricsSnapshot, inout MetricSamples) -> Void
}

// MARK: Metrics of each channel

extension MetricFamily {
    /// A metric with samples for each channel. Its first label is `channel`; the `labels` follow.
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

    /// A metric with one sample for each channel that has a program and for which `value` does not return nil.
    static func program(
        _ name: String, _ kind: Kind, _ help: String, _ value: @escaping @Sendable (ChannelStatus) -> Double?
    ) -> MetricFamily {
        channel(name, kind, help) { report, samples in samples.add(report.status.flatMap(value)) }
    }

    /// A metric with samples for each item that `all` returns. Its first label is `channel`; the `labels` follow.
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

/// Writes the samples of one metric after the other as Prometheus text, version 0.0.4.
struct MetricSamples {
    /// The Prometheus text that was written so far.
    private(set) var text = ""
    /// The values of the first labels. All following samples have them.
    var first: [String] = []

    private var family = ""
    private var labels: [String] = []
    private var header = ""

    /// Begins the samples of a metric. A metric without samples is not written.
    mutating func begin(_ family: MetricFamily) {
        (self.family, labels, first) = (family.name, family.labels, [])
        header =
            "# HELP \(family.name) \(Self.escapedHelp(family.help))\n# TYPE \(family.name) \(family.kind.rawValue)\n"
    }

    /// Writes a sample. `values` are the values of the labels after ``first``; a label without a value is left out.
    /// Without a `value`, nothing is written.
    mutating func add(_ value: Double?, _ values: String?...) {
        guard let value else { return }
        write("", values, value)
    }

    /// Writes a sample for each value in `all`, which are the possible values of the last label. The sample is 1 for
    /// `current` and 0 for the others. `values` are the values of the labels between ``first`` and the last label.
    mutating func choose(_ current: String?, among all: [String], _ values: String?...) {
        for value in all { write("", values + [value], MetricFamily.number(value == current)) }
    }

    /// Writes a histogram. `counts` are the numbers of values that do not exceed each of `bounds`; `count` is the
    /// number of all values, and `sum` is their sum. `values` are the values of the labels after ``first``.
    mutating func add(counts: [Int], bounds: [Double], count: Int, sum: Double, _ values: String?...) {
        labels.append("le")
        for (bound, seen) in zip(bounds, counts) { write("_bucket", values + [Self.number(bound)], Double(seen)) }
        write("_bucket", values + ["+Inf"], Double(count))
        labels.removeLast()
        write("_sum", values, sum)
        write("_count", values, Double(count))
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

    /// Escapes backslash, quote and line feed in a label's value.
    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return text }
        return text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            // Swift treats CR LF as one character, but the line feed in it must be escaped.
            case "\r\n": result += "\r\\n"
            default: result.append(character)
            }
        }
    }

    /// Escapes backslash and line feed in a help text.
    static func escapedHelp(_ text: String) -> String {
        text.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\")
            .split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
    }

    /// Formats a value: whole numbers have no fraction; NaN and infinities are written as Prometheus writes them.
    static func number(_ value: Double) -> String {
        // Larger numbers are not written as whole numbers, because a floating-point number cannot represent every whole
        // number from 2^53 on.
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return "\(value)"
    }
}
