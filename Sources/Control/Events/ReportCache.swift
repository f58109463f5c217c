// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Status

/// The channels' reports, looked at no oftener than anybody could tell, however many look. Any thread.
final class ReportCache: Sendable {
    private let host: any ControlledHost
    private let reports: Cached<[ChannelReport]>
    private let texts: Cached<[[UInt8]]>
    private let rendered: Cached<String>
    /// The version of relay.
    let version: String
    /// When the process began.
    let startedAt = UTCTime.now

    init(_ host: any ControlledHost, version: String, metrics: @escaping @Sendable ([ChannelReport]) -> String) {
        (self.host, self.version) = (host, version)
        let reports = Cached(for: .milliseconds(90)) { host.channels.compactMap { host.channel($0)?.report } }
        self.reports = reports
        // So short, because who has just changed something must not be told what was before.
        texts = Cached(for: .milliseconds(100)) { reports.value.map { JSON.encode(Named(report: $0)) } }
        rendered = Cached(for: .milliseconds(200)) { metrics(reports.value) }
    }

    var now: UTCTime { .now }
    var names: [String] { host.channels }
    /// All reports, 90 ms old at most.
    var all: [ChannelReport] { reports.value }
    /// The same as JSON, each with its channel, 200 ms old at most.
    var encoded: [[UInt8]] { texts.value }
    /// Prometheus text, 300 ms old at most.
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
