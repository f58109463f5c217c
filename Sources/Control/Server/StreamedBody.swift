// SPDX-License-Identifier: Apache-2.0

internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// Writes an answer that has no end of its own. Who does not read for a while is not written to any more: its connection
/// is closed, so that it holds nothing.
struct StreamedBody {
    /// How long a piece may take.
    static let patience = Duration.seconds(10)

    /// The answer's body: `produce` writes until it returns or throws, or until the reader is gone.
    static func body(
        of request: ControlRequest,
        _ produce: @escaping @Sendable (_ write: (ByteBuffer) async throws -> Void) async throws -> Void
    ) -> ResponseBody {
        let channel = request.context.channel
        return ResponseBody { writer in
            // Boxed, because an inout parameter cannot be captured.
            var own = writer
            try await produce { piece in
                let watch = channel.eventLoop.scheduleTask(in: .seconds(patience.components.seconds)) {
                    channel.close(mode: .all, promise: nil)
                }
                defer { watch.cancel() }
                try await own.write(piece)
            }
            writer = own
            try await writer.finish(nil)
        }
    }
}
