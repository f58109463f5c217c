// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// One of two handlers that pass everything between two channels of one event loop, and hold back what the other side
/// does not take: what waits belongs in the output's queue, where the policy sees it.
final class GlueHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var partner: GlueHandler?
    private var context: ChannelHandlerContext?
    private var isReadHeld = false
    /// Told how many bytes were received here, and then how many of them the other side's kernel took.
    private let count: @Sendable (Int) -> Void

    init(count: @escaping @Sendable (Int) -> Void = { _ in }) { self.count = count }

    /// Makes two handlers each other's partner, until one of their channels ends.
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
        // The near end sends nothing more: the other end is told so, and reading from it continues.
        if case .inputClosed? = event as? ChannelEvent { partner?.context?.close(mode: .output, promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        partner?.context?.close(promise: nil)
        partner = nil
        context.fireChannelInactive()
    }
}
