// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import LibAV
internal import Media
internal import NIOCore
internal import Synchronization

/// Serves live video and snapshots of the program on air.
final class PreviewRoutes: Sendable {
    /// The interval between two checks for new fragments: a third of a fragment's length.
    private static let step = TimeAmount.milliseconds(50)
    /// How long the server waits for the first keyframe, and later for each new fragment, before it ends the response.
    private static let patience = Duration.seconds(10)

    private let host: any ControlledHost
    private let feeds = Mutex<[String: PreviewFeed]>([:])
    private let snapshots = SnapshotCache()

    init(host: any ControlledHost) { self.host = host }

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v1/channels/{channel}/preview.mp4", .view) { [self] request in try preview(request) },
            Endpoint(.get, "/v1/channels/{channel}/snapshot.jpg", .view) { [self] request in
                try await snapshot(request)
            },
        ]
    }

    private func preview(_ request: ControlRequest) throws(Refusal) -> Response {
        let name = try request.parameter("channel")
        let stream = try stream(request)
        if let reason = PreviewFeed(of: stream).refusal { throw Refusal(.conflict, reason) }
        let body = StreamedBody.body(of: request) { [self] write in
            // The feed begins here, when the body is written, and not earlier. The body of a HEAD request is never
            // written, so a feed that began earlier would never end.
            let feed = feed(of: stream, name)
            feed.begin()
            defer { end(feed, name) }
            try await send(feed, of: name, to: request, write)
        }
        return Response(status: .ok, headers: [.contentType: "video/mp4"], body: body)
    }

    private func send(
        _ feed: PreviewFeed, of name: String, to request: ControlRequest, _ write: (ByteBuffer) async throws -> Void
    ) async throws {
        let began = ContinuousClock.now
        while feed.beginning == nil {
            guard ContinuousClock.now - began < Self.patience else { return }
            try await request.rest(until: .now() + Self.step)
        }
        guard let (head, pieces) = feed.beginning, var last = pieces.last?.number else { return }
        var buffer = head
        for piece in pieces { buffer.writeImmutableBuffer(piece.bytes) }
        try await write(buffer)
        // The server notices only while writing that a client has disconnected. Therefore the response ends when no
        // fragment comes for a while. A client that is still watching sends another request.
        var latest = ContinuousClock.now
        while host.channel(name)?.stream === feed.stream, ContinuousClock.now - latest < Self.patience {
            try await request.rest(until: .now() + Self.step)
            for piece in feed.pieces(after: last) {
                try await write(piece.bytes)
                (last, latest) = (piece.number, .now)
            }
        }
    }

    /// Returns the newest keyframe as a JPEG. It is decoded once for all clients that request the same width within a
    /// second. Only one image is decoded at a time, so that no client can keep the processor busy.
    private func snapshot(_ request: ControlRequest) async throws -> Response {
        let name = try request.parameter("channel")
        let width = try request.integer("width", in: Snapshot.widths)
        let stream = try stream(request)
        let bytes = try await Blocking.stills.run { [snapshots] in
            try snapshots.bytes(of: "\(name) \(width ?? 0)") { () throws(Refusal) in
                try Self.jpeg(of: stream, width: width)
            }
        }
        return Response(
            status: .ok, headers: [.contentType: "image/jpeg"], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private static func jpeg(of stream: PacketStream, width: Int?) throws(Refusal) -> [UInt8] {
        guard let keyframe = stream.currentGOP.packets.first(where: { $0.track == .video }) else {
            throw Refusal(.conflict, "There is no video on air.")
        }
        do throws(AVFailure) {
            return try Snapshot.jpeg(of: keyframe, width: width)
        } catch {
            throw Refusal(.conflict, "The video on air cannot be shown as an image: \(error)")
        }
    }

    private func stream(_ request: ControlRequest) throws(Refusal) -> PacketStream {
        guard let stream = try request.channel(of: host).stream else {
            throw Refusal(.unavailable, "The channel is not on air.")
        }
        return stream
    }

    /// Returns the feed of the channel `name` with this `stream`. All watching clients share it until the channel is
    /// reopened.
    private func feed(of stream: PacketStream, _ name: String) -> PreviewFeed {
        feeds.withLock { feeds in
            if let feed = feeds[name], feed.stream === stream { return feed }
            let feed = PreviewFeed(of: stream)
            feeds[name] = feed
            return feed
        }
    }

    /// Records that a client has stopped watching. When no client is left, the feed and its stream are released.
    private func end(_ feed: PreviewFeed, _ name: String) {
        let isLast = feed.end()
        feeds.withLock { feeds in
            if isLast, feeds[name] === feed { feeds[name] = nil }
        }
    }
}
