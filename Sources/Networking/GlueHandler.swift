// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One of two handlers that forward everything between two channels of one event loop. Each stops reading when the
/// other side is full, so that the backlog stays in the output's queue, where the drop policy sees it.
final class GlueHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var partner: GlueHandler?
    private var context: ChannelHandlerContext?
    private var isReadHeld = false
    /// Called with the number of bytes that this handler received. Called again with the negative number when the
    /// kernel has accepted these bytes for the other channel, or when they are discarded because that channel has
    /// ended.
    private let count: @Sendable (Int) -> Void

    init(count: @escaping @Sendable (Int) -> Void = { _ in }) { self.count = count }

    /// Connects two handlers: each forwards to the other until one of their channels ends.
    static func connect(_ first: GlueHandler, _ second: GlueHandler) {
        first.partner = second
        second.partner = first
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        partner = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        let size = bytes.readableBytes
        count(size)
        guard let other = partner?.context else { return count(-size) }
        other.write(NIOAny(bytes)).whenComplete { [count] _ in count(-size) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { partner?.context?.flush() }

    func read(context: ChannelHandlerContext) {
        if partner?.context?.channel.isWritable == false {
            isReadHeld = true
        } else {
            context.read()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { partner?.goOnReading() }
        context.fireChannelWritabilityChanged()
    }

    private func goOnReading() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // This channel has received its last byte. The other channel is closed for sending, but it can still receive
        // data and forward it here.
        if case .inputClosed? = event as? ChannelEvent { partner?.context?.close(mode: .output, promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        partner?.context?.close(promise: nil)
        partner = nil
        context.fireChannelInactive()
    }
}
