// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Library
internal import Media

/// The API of exports, which are jobs that make clips from recordings.
struct ExportRoutes {
    private static let path = "/v1/exports"
    private static let job = path + "/{export}"

    let host: any ControlledHost

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, Self.path, .view) { _ in JSON.response(["exports": host.exports.jobs]) },
            Endpoint(.post, Self.path, .operate) { request in
                let asked = try Self.checked(try await JSON.body(NewExport.self, of: request))
                let job = try await Blocking.changes.run { try host.startExport(asked) }
                return JSON.response(
                    job, status: .accepted, headers: [.location: "\(request.request.uri.path)/\(job.id)"])
            },
            Endpoint(.get, Self.job, .view) { request in
                JSON.response(try host.exports.job(try request.parameter("export")))
            },
            Endpoint(.delete, Self.job, .operate) { request in
                let id = try request.parameter("export")
                try await Blocking.changes.run { try host.exports.remove(id) }
                return JSON.empty()
            },
            Endpoint(.get, Self.job + "/file", .view) { request in try await file(request) },
            Endpoint(.head, Self.job + "/file", .view) { request in try await file(request) },
        ]
    }

    private func file(_ request: ControlRequest) async throws -> Response {
        let id = try request.parameter("export")
        return try FileResponse.response(to: request, for: try await Blocking.disk.run { try host.exports.file(id) })
    }

    private static func checked(_ asked: NewExport) throws(Refusal) -> ExportRequest {
        let (range, name) = try asked.checked()
        return ExportRequest(
            channel: asked.channel, range: range, name: name, isExact: asked.exact, source: asked.source)
    }
}
