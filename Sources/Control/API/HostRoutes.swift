// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import Program
internal import Status
internal import Synchronization

/// The API of the process as a whole: version, health, metrics and commands.
struct HostRoutes {
    private struct About: Encodable {
        let version: String
        let startedAt: String
        let time: String
    }

    private struct NewCheck: Decodable { let address: String }
    private struct Reloaded: Encodable { let changedChannels: Int }

    let host: any ControlledHost
    let reports: ReportCache
    let events: EventStream
    let readiness = Readiness()

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v1", .view) { _ in
                JSON.response(
                    About(version: reports.version, startedAt: reports.startedAt.extended, time: reports.now.extended))
            },
            Endpoint(.post, "/v1/check", .operate) { request in
                let asked = try await JSON.body(NewCheck.self, of: request)
                return JSON.response(try await Blocking.control.run { host.check(asked.address) })
            },
            Endpoint(.post, "/v1/reload", .operate) { _ in
                JSON.response(Reloaded(changedChannels: try await Blocking.control.run { try host.reload() }))
            },
            Endpoint(.get, "/v1/events", .view) { request in try events.response(to: request) },
            Endpoint(.get, "/metrics", .view) { _ in
                Self.text(reports.metrics, type: "text/plain; version=0.0.4; charset=utf-8")
            },
            Endpoint(.get, "/healthz", .none) { _ in Self.text("ok\n") },
            Endpoint(.get, "/readyz", .none) { _ in
                guard let reason = readiness.lacks(reports.all) else { return Self.text("ok\n") }
                return Problem.response(Refusal(.unavailable, reason))
            },
        ]
    }

    private static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> Response {
        Response(status: .ok, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}

/// Checks that the channels output media: each channel must have produced frames within the last few seconds.
final class Readiness: Sendable {
    private struct Look {
        var units: Int64
        var moved: ContinuousClock.Instant
    }

    /// How long a program may go without a new frame.
    private static let patience = Duration.seconds(3)

    private let looks = Mutex<[String: Look]>([:])

    /// Returns why the process is not ready, in a sentence; nil if it is ready.
    func lacks(_ reports: [ChannelReport]) -> String? {
        if reports.isEmpty { return "There is no channel." }
        let still = reports.filter { !moves($0) }.map(\.name)
        return still.isEmpty ? nil : "Nothing moves in \(still.joined(separator: ", "))."
    }

    private func moves(_ report: ChannelReport) -> Bool {
        guard let status = report.status else { return false }
        let units = status.passthrough?.packets ?? status.program.frames
        let now = ContinuousClock.now
        return looks.withLock { looks in
            let last = looks[report.name]
            if let last, last.units == units { return now - last.moved < Self.patience }
            looks[report.name] = Look(units: units, moved: now)
            return units > 0
        }
    }
}
