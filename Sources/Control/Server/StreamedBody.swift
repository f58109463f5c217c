// SPDX-License-Identifier: Apache-2.0

internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore

/// Writes a response in pieces. The connection is closed when the client's session ends. It is also closed if the
/// client does not read for a while, so that such clients do not occupy resources.
struct StreamedBody {
    /// How long a client may take to read a piece, by default.
    static let patience = Duration.seconds(10)

    /// Returns the body of a response; `length` is its size in bytes, if that is known. `produce` writes the body. The
    /// body ends when `produce` returns or throws, or when the client disconnects.
    static func body(
        of request: ControlRequest, length: Int? = nil, patience: Duration = patience,
        _ produce: @escaping @Sendable (_ write: (ByteBuffer) async throws -> Void) async throws -> Void
    ) -> ResponseBody {
        let channel = request.context.channel
        let send: @Sendable (inout any ResponseBodyWriter) async throws -> Void = { writer in
            // The closure below needs a copy of the writer, because it cannot capture an inout parameter.
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
    /// Waits until `deadline` on the event loop of the connection. A timer of Swift concurrency would wake two other
    /// threads each time, and hundreds of clients may be waiting. Throws when the request is cancelled.
    func rest(until deadline: NIODeadline) async throws {
        let loop = context.channel.eventLoop
        await withCheckedContinuation { continuation in
            loop.scheduleTask(deadline: deadline) {}.futureResult.whenComplete { _ in continuation.resume() }
        }
        try Task.checkCancellation()
    }
}
