// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Status
internal import Synchronization

/// Caches the channels' reports, so that the cost of reading them does not grow with the number of clients. A cached
/// report is so new that no client notices its age. Any thread may use it.
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
        // The texts are kept for a short time only, so that a client that has just changed something soon gets the new
        // state.
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

/// Computes a value at most once per `lifetime`, no matter how many callers ask for it. Any thread may use it. A caller
/// that asks while the value is being computed waits for the result.
final class Cached<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var made = ContinuousClock.now
    }

    private let lifetime: Duration
    private let make: @Sendable () -> Value
    private let state = Mutex(State())

    /// A cache for the value of `make`, which is valid for `lifetime`.
    init(for lifetime: Duration, _ make: @escaping @Sendable () -> Value) {
        (self.lifetime, self.make) = (lifetime, make)
    }

    /// The value, computed again if it is too old.
    var value: Value {
        state.withLock { state in
            let now = ContinuousClock.now
            if let value = state.value, now - state.made < lifetime { return value }
            let value = make()
            (state.value, state.made) = (value, now)
            return value
        }
    }
}
