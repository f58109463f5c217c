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
    private static let longestName = 100
    /// The maximum length of an export: a day, in milliseconds. Longer clips must be exported in parts.
    private static let longest: Int64 = 86_400_000

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
        guard from < to, to - from <= longest else { throw Refusal(.unusable, "to is after from, by a day at most.") }
        if let name = asked.name {
            guard !name.isEmpty, name.count <= longestName, !name.contains(where: { $0 == "/" || $0 == "\0" }),
                !name.hasPrefix(".")
            else {
                throw Refusal(.unusable, "name has 1 to \(longestName) characters, no slash, and no point in front.")
            }
        }
        return ExportRequest(
            channel: asked.channel, range: from..<to, name: asked.name, isExact: asked.exact, source: asked.source)
    }
}

extension ControlRequest {
    /// Returns a time from the query, in milliseconds since 1970; nil if the query does not contain it.
    func moment(_ name: String) throws(Refusal) -> Int64? {
        guard let text = query(name) else { return nil }
        return try ClockTime.milliseconds(text, name)
    }
}

/// Reads times in requests.
enum ClockTime {
    /// Reads a UTC time such as `2026-11-21T14:03:10.250Z`, with up to nine fractional digits, and returns milliseconds
    /// since 1970. `name` is the name of the time in the request.
    static func milliseconds(_ text: String, _ name: String) throws(Refusal) -> Int64 {
        let body = text.hasSuffix("Z") ? text.dropLast() : Substring()
        let parts = body.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? parts[1] : "0"
        guard let seconds = parts.first, (1...9).contains(fraction.utf8.count),
            fraction.utf8.allSatisfy({ (48...57).contains($0) }),
            let time = UTCTime(extended: "\(seconds).\((fraction + "00").prefix(3))Z")
        else { throw Refusal(.malformed, "\(name) is a time in UTC, such as 2026-11-21T14:03:10.250Z.") }
        return time.milliseconds
    }
}
