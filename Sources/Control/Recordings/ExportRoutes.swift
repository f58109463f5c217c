// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Library
internal import Media

/// The API of exports, which are jobs that make clips from recordings.
struct ExportRoutes {
    private struct NewExport: Decodable {
        let channel: String
        let source: String?
        let from: String
        let to: String
        let name: String?
        let exact: Bool?
    }

    private static let path = "/v1/exports"
    private static let job = path + "/{export}"
    /// The maximum length of an export: a day. Longer clips must be exported in parts.
    private static let longest = Duration.seconds(86_400)

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
        let from = try ClockTime.milliseconds(asked.from, "from")
        let to = try ClockTime.milliseconds(asked.to, "to")
        guard from < to, .milliseconds(to - from) <= longest else {
            throw Refusal(.unusable, "to is after from, by a day at most.")
        }
        return ExportRequest(
            channel: asked.channel, range: from..<to, name: try ClipName.checked(asked.name), isExact: asked.exact,
            source: asked.source)
    }
}
