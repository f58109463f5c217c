// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Library
internal import Media
internal import NIOCore
internal import Segmenter
internal import Status

/// The API of a channel's recordings: lists, files, playlists, holds and deletions.
struct RecordingRoutes {
    private static let path = "/v1/channels/{channel}/recordings"
    private static let recording = path + "/{recording}"
    private static let mostListed = 10_000

    let host: any ControlledHost

    var endpoints: [Endpoint] { looking + files + keeping }

    private var looking: [Endpoint] {
        [
            Endpoint(.get, Self.path, .view) { request in
                let (archive, range, limit) = (try request.archive(of: host), try request.times(), try limit(request))
                let retention = try retention(request)
                return JSON.response(
                    try await Blocking.disk.run { try archive.list(range, limit: limit, retention: retention) })
            },
            Endpoint(.get, "/v1/channels/{channel}/uploads", .view) { request in
                let (archive, range, limit) = (try request.archive(of: host), try request.times(), try limit(request))
                return JSON.response(try await Blocking.disk.run { try archive.uploads(range, limit: limit) })
            },
            Endpoint(.get, "/v1/channels/{channel}/playlist.m3u8", .view) { request in
                let archive = try request.archive(of: host)
                guard let from = try request.moment("from") else {
                    throw Refusal(.malformed, "from is needed: a time in UTC.")
                }
                let to = try request.moment("to")
                guard to.map({ $0 > from }) ?? true else { throw Refusal(.malformed, "to is not after from.") }
                let text = try await Blocking.disk.run { try archive.playlist(from: from, to: to) }
                return Response(
                    status: .ok, headers: [.contentType: "application/vnd.apple.mpegurl", .cacheControl: "no-cache"],
                    body: .init(byteBuffer: ByteBuffer(string: text)))
            },
        ]
    }

    private var files: [Endpoint] {
        [
            Endpoint(.get, Self.recording, .view) { request in try await file(request) },
            Endpoint(.head, Self.recording, .view) { request in try await file(request) },
            // The file is also served under this second name, because some players recognize a segment only by its
            // extension.
            Endpoint(.get, Self.recording + "/media.mp4", .view) { request in try await file(request) },
            Endpoint(.head, Self.recording + "/media.mp4", .view) { request in try await file(request) },
            Endpoint(.get, Self.recording + "/init.mp4", .view) { request in
                let (archive, id) = (try request.archive(of: host), try request.parameter("recording"))
                let bytes = try await Blocking.disk.run { try archive.initialisation(of: id) }
                // This response supports ranges. If it did not, FFmpeg would expect a body as large as that of its
                // previous request, and would wait for the missing bytes.
                let head = ArchivedFile(name: "init.mp4", type: "video/mp4", size: Int64(bytes.count), tag: nil) {
                    Array(bytes.dropFirst(Int($0)).prefix($1))
                }
                return try FileResponse.response(to: request, for: head)
            },
            Endpoint(.get, Self.recording + "/thumbnail.jpg", .view) { request in
                let (archive, id) = (try request.archive(of: host), try request.parameter("recording"))
                let seconds = try request.number("at", in: 0...31_536_000) ?? 0
                let width = try request.integer("width", in: 32...1920) ?? 320
                let isExact = request.query("exact") == "1"
                let (bytes, isLasting) = try await Blocking.thumbnails.run {
                    try archive.thumbnail(of: id, at: seconds, width: width, isExact: isExact)
                }
                return Response(
                    status: .ok,
                    headers: [
                        .contentType: "image/jpeg", .cacheControl: isLasting ? "private, max-age=3600" : "no-store",
                    ], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
            },
        ]
    }

    private var keeping: [Endpoint] {
        [
            Endpoint(.put, Self.recording + "/hold", .operate) { request in try await hold(true, request) },
            Endpoint(.delete, Self.recording + "/hold", .operate) { request in try await hold(false, request) },
            Endpoint(.put, Self.recording + "/upload", .operate) { request in try await upload(true, request) },
            Endpoint(.delete, Self.recording + "/upload", .operate) { request in try await upload(false, request) },
            Endpoint(.delete, Self.recording, .operate) { request in
                let (archive, id) = (try request.archive(of: host), try request.parameter("recording"))
                return try await deletion(.recording(id: id), request.query("token"), archive) {
                    try archive.planDeletion(of: id)
                }
            },
            Endpoint(.post, Self.path + "/make-room", .operate) { request in
                let archive = try request.archive(of: host)
                let asked = try await JSON.body(NewRoom.self, of: request)
                let bytes = try asked.checked()
                return try await deletion(.room(bytes: bytes), asked.token, archive) {
                    try archive.planRoom(for: bytes)
                }
            },
        ]
    }

    /// Without a `token`, returns a deletion plan, which contains a token. With the token of such a plan, carries out
    /// that plan.
    private func deletion(
        _ subject: DeletionSubject, _ token: String?, _ archive: ChannelArchive,
        _ plan: @escaping @Sendable () throws -> DeletionPlan
    ) async throws -> Response {
        guard let token else { return JSON.response(try await Blocking.changes.run(plan), status: .accepted) }
        return JSON.response(try await Blocking.changes.run { try archive.delete(token: token, subject: subject) })
    }

    private func hold(_ isHeld: Bool, _ request: ControlRequest) async throws -> Response {
        let (archive, id) = (try request.archive(of: host), try request.parameter("recording"))
        try await Blocking.changes.run { try archive.setHold(isHeld, of: id) }
        return JSON.empty()
    }

    private func upload(_ isWanted: Bool, _ request: ControlRequest) async throws -> Response {
        let (channel, id) = (try request.channel(of: host), try request.parameter("recording"))
        // This call throws if the source is not recorded.
        _ = try request.archive(of: host)
        let source = request.query("source")
        try await Blocking.changes.run { try channel.setUploaded(isWanted, recording: id, source: source) }
        return JSON.empty()
    }

    private func file(_ request: ControlRequest) async throws -> Response {
        let (archive, id) = (try request.archive(of: host), try request.parameter("recording"))
        return try FileResponse.response(to: request, for: try await Blocking.disk.run { try archive.open(id) })
    }

    /// The maximum number of entries in a list.
    private func limit(_ request: ControlRequest) throws(Refusal) -> Int {
        try request.integer("limit", in: 1...Self.mostListed) ?? 1000
    }

    /// Returns the status of the retention of the recordings in question; nil while nothing is recorded.
    private func retention(_ request: ControlRequest) throws(Refusal) -> RetentionStatus? {
        let status = try request.channel(of: host).report.status
        guard let source = request.query("source") else { return status?.retention }
        return status?.sourceRecordings?.first { $0.source == source }?.retention
    }
}
