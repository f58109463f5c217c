// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Status

/// Caches the channels' reports. However many clients ask, reports are read only so often that no client notices the
/// delay. Any thread may use it.
final class ReportCache: Sendable {
    private let host: any ControlledHost
    private let reports: Cached<[ChannelReport]>
    private let texts: Cached<[[UInt8]]>
    private let rendered: Cached<String>
    /// The version of relay.
    let version: String
    /// When the process started.
    let startedAt = UTCTime.now

    init(_ host: any ControlledHost, version: String, metrics: @escaping @Sendable ([ChannelReport]) -> String) {
        (self.host, self.version) = (host, version)
        let reports = Cached(for: .milliseconds(90)) { host.channels.compactMap { host.channel($0)?.report } }
        self.reports = reports
        // The lifetime is short, because a client that has just changed something must not get the old state.
        texts = Cached(for: .milliseconds(100)) { reports.value.map { JSON.encode(Named(report: $0)) } }
        rendered = Cached(for: .milliseconds(200)) { metrics(reports.value) }
    }

    var now: UTCTime { .now }
    var names: [String] { host.channels }
    /// All reports, at most 90 ms old.
    var all: [ChannelReport] { reports.value }
    /// All reports as JSON, each with its channel's name, at most 200 ms old.
    var encoded: [[UInt8]] { texts.value }
    /// The metrics as Prometheus text, at most 300 ms old.
    var metrics: String { rendered.value }

    private struct Named: Encodable {
        let report: ChannelReport

        private enum Key: String, CodingKey { case channel }

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(report.name, forKey: .channel)
        }
    }
}
