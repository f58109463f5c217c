// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Closes a connection whose client does not read its response, so that it does not occupy one of the limited
/// connections forever.
final class StallGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    /// Longer than a player that has buffered enough pauses reading.
    private static let patience = TimeAmount.seconds(60)

    private var deadline: Scheduled<Void>?

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            deadline?.cancel()
            deadline = nil
        } else if deadline == nil {
            deadline = context.channel.close(in: Self.patience)
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }
}
