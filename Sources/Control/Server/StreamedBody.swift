// SPDX-License-Identifier: Apache-2.0

internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore

/// Writes a response in pieces. The connection is closed if the client does not read for a while, so that the client
/// occupies no resources, or if the client's session ends.
struct StreamedBody {
    /// How long a client may take to read a piece, by default.
    static let patience = Duration.seconds(10)

    /// Returns the body of the response, which has `length` bytes if that is known. `produce` writes until it returns
    /// or throws, or until the client has disconnected.
    static func body(
        of request: ControlRequest, length: Int? = nil, patience: Duration = patience,
        _ produce: @escaping @Sendable (_ write: (ByteBuffer) async throws -> Void) async throws -> Void
    ) -> ResponseBody {
        let channel = request.context.channel
        let send: @Sendable (inout any ResponseBodyWriter) async throws -> Void = { writer in
            // A copy, because an inout parameter cannot be captured.
            var own = writer
            try await produce { piece in
                guard request.isStillAdmitted() else { throw Refusal(.unauthenticated, "The session is over.") }
                let watch = channel.close(in: .seconds(patience.components.seconds))
                defer { watch.cancel() }
                try await own.write(piece)
            }
            writer = own
            try await writer.finish(nil)
        }
        return length.map { ResponseBody(contentLength: $0, send) } ?? ResponseBody(send)
    }
}

extension ControlRequest {
    /// Waits on the event loop of the connection: a timer of Swift concurrency would wake two other threads, and there
    /// may be hundreds of clients, each with its timers. Throws when the request is cancelled.
    func rest(until deadline: NIODeadline) async throws {
        let loop = context.channel.eventLoop
        await withCheckedContinuation { continuation in
            loop.scheduleTask(deadline: deadline) {}.futureResult.whenComplete { _ in continuation.resume() }
        }
        try Task.checkCancellation()
    }
}
