// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore
internal import Studio

/// The API of the scenes on air and in the preview, and of their sources.
struct ProgramRoutes {
    private static let path = "/v1/channels/{channel}"

    /// The width of a snapshot in pixels if the request does not give one.
    private static let width = 320

    let host: any ControlledHost
    /// The cache of snapshots. An image expires before the web page requests the next one.
    private let snapshots = SnapshotCache(for: .milliseconds(90))

    init(host: any ControlledHost) { self.host = host }

    var endpoints: [Endpoint] { scenes + parts }

    /// Requests that concern the scenes on air, the scheduled scenes, and the scenes in the preview.
    private var scenes: [Endpoint] {
        [
            Endpoint(.get, Self.path + "/program", .view) { request in
                JSON.response(try request.program(of: host).report)
            },
            Endpoint(.put, Self.path + "/program", .operate) { request in
                let program = try request.program(of: host)
                let asked = try await JSON.body(ProgramRequest.self, of: request)
                return JSON.response(ChangedFrame(frame: try program.put(asked)))
            },
            Endpoint(.delete, Self.path + "/program/changes/{frame}", .operate) { request in
                guard let frame = Int64(try request.parameter("frame")) else {
                    throw Refusal(.notFound, "A change is named by the number of its frame.")
                }
                try request.program(of: host).withdraw(at: frame)
                return JSON.empty()
            },
            Endpoint(.put, Self.path + "/preview", .operate) { request in
                let program = try request.program(of: host)
                try program.prepare(try await JSON.body(ProgramRequest.self, of: request))
                return JSON.response(program.report)
            },
            Endpoint(.post, Self.path + "/take", .operate) { request in
                JSON.response(ChangedFrame(frame: try request.program(of: host).take()))
            },
            Endpoint(.post, Self.path + "/auto", .operate) { request in
                JSON.response(ChangedFrame(frame: try request.program(of: host).auto()))
            },
        ]
    }

    /// Requests that concern the parts of scenes: overlays and sources.
    private var parts: [Endpoint] {
        [
            Endpoint(.put, Self.path + "/overlays/{overlay}", .operate) { request in
                let (program, name) = (try request.program(of: host), try request.parameter("overlay"))
                let change = try await JSON.body(OverlayRequest.self, of: request)
                guard !change.isEmpty else {
                    throw Refusal(.unusable, "There is nothing to change: give visible or text.")
                }
                return JSON.response(
                    ChangedFrame(frame: try await Blocking.changes.run { try program.changeOverlay(name, change) }))
            },
            Endpoint(.get, Self.path + "/sources/{source}/snapshot.jpg", .view) { request in
                let (program, name) = (try request.program(of: host), try request.parameter("source"))
                let width = try request.integer("width", in: 32...1920) ?? Self.width
                let key = "\(request.request.uri.path) \(width)"
                let bytes = try await Blocking.stills.run {
                    try snapshots.bytes(of: key) { () throws(Refusal) in
                        try program.snapshot(of: name, width: width)
                    }
                }
                return Response(
                    status: .ok, headers: [.contentType: "image/jpeg"],
                    body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
            },
            Endpoint(.patch, Self.path + "/sources/{source}", .operate) { request in
                let (program, name) = (try request.program(of: host), try request.parameter("source"))
                let change = try await JSON.body(SourceRequest.self, of: request)
                guard !change.isEmpty else {
                    throw Refusal(
                        .unusable,
                        "There is nothing to change: give one of \(SourceRequest.keys.joined(separator: ", ")).")
                }
                try program.change(name, change)
                return JSON.response(program.report)
            },
        ]
    }
}
