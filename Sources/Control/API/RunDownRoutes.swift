// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import Program
internal import Studio

/// The API of a program's run-down.
struct RunDownRoutes {
    private static let path = "/v1/channels/{channel}/rundown"
    /// The maximum size of the body of a request, in bytes. It equals the limit for a run-down file. The usual limit
    /// for requests is too small for a run-down of a thousand segments.
    private static let mostBytes = 1 << 20

    let host: any ControlledHost

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, Self.path, .view) { request in
                JSON.response(try request.program(of: host).runDown())
            },
            Endpoint(.put, Self.path, .operate, mostBytes: Self.mostBytes) { request in
                let program = try request.program(of: host)
                let text = try await JSON.text(
                    of: request, types: ["application/yaml", "application/json"], most: Self.mostBytes)
                try await Blocking.changes.run { try program.loadRunDown(text) }
                return JSON.response(try program.runDown())
            },
            Endpoint(.post, Self.path + "/start", .operate) { request in
                let segment = try request.integer("segment", in: 0...RunDown.mostSegments) ?? 0
                return try effect(of: .start(segment: segment), request)
            },
            Endpoint(.post, Self.path + "/stop", .operate) { try effect(of: .stop, $0) },
            Endpoint(.post, Self.path + "/next", .operate) { try effect(of: .next, $0) },
            Endpoint(.post, Self.path + "/hold", .operate) { try effect(of: .hold, $0) },
            Endpoint(.post, Self.path + "/resume", .operate) { try effect(of: .resume, $0) },
            Endpoint(.post, Self.path + "/follow", .operate) { try effect(of: .follow, $0) },
        ]
    }

    private func effect(of command: RunDownCommand, _ request: ControlRequest) throws -> Response {
        JSON.response(ChangedFrame(frame: try request.program(of: host).perform(command)))
    }
}
