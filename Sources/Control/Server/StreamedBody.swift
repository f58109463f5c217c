// SPDX-License-Identifier: Apache-2.0

internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// Writes an answer piece by piece. Who does not read for a while is not written to any more: its connection is closed, so
/// that it holds nothing.
struct StreamedBody {
    /// How long a piece may take, unless something else is said.
    static let patience = Duration.seconds(10)

    /// The answer's body, of `length` bytes if that is known: `produce` writes until it returns or throws, or until the
    /// reader is gone.
    static func body(
        of request: ControlRequest, length: Int? = nil, patience: Duration = patience,
        _ produce: @escaping @Sendable (_ write: (ByteBuffer) async throws -> Void) async throws -> Void
    ) -> ResponseBody {
        let channel = request.context.channel
        let send: @Sendable (inout any ResponseBodyWriter) async throws -> Void = { writer in
            // Boxed, because an inout parameter cannot be captured.
            var own = writer
            try await produce { piece in
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
    /// Waits by the clock of the connection's own thread: a timer of Swift's concurrency wakes two others, and hundreds of
    /// readers have hundreds of them. Throws when the request is given up.
    func rest(until deadline: NIODeadline) async throws {
        let loop = context.channel.eventLoop
        await withCheckedContinuation { continuation in
            loop.scheduleTask(deadline: deadline) {}.futureResult.whenComplete { _ in continuation.resume() }
        }
        try Task.checkCancellation()
    }
}
