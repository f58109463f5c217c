// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import Status

/// The API of the process as a whole: version, health, metrics and commands.
struct HostRoutes {
    private struct About: Encodable {
        let version: String
        let startedAt: String
        let time: String
    }

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
