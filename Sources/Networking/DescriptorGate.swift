// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A handler in the channel of a listening socket. While a ``DescriptorReserve`` admits no connection, new connections
/// wait in the kernel.
package final class DescriptorGate: ChannelDuplexHandler {
    package typealias InboundIn = NIOAny
    package typealias OutboundIn = NIOAny

    /// How often a server that stopped accepting connections checks whether descriptors are free again.
    private static let interval = TimeAmount.seconds(1)

    private let reserve: DescriptorReserve
    private let warn: @Sendable (String) -> Void
    private var check: Scheduled<Void>?

    /// Creates a gate that calls `warn` with messages for an operator.
    package init(_ reserve: DescriptorReserve, warn: @escaping @Sendable (String) -> Void) {
        self.reserve = reserve
        self.warn = warn
    }

    package func read(context: ChannelHandlerContext) {
        guard check == nil else { return }
        guard !reserve.admits() else { return context.read() }
        if let text = reserve.pause() { warn(text) }
        checkLater(context)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reserve.accepted()
        context.fireChannelRead(data)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func checkLater(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        check = context.eventLoop.scheduleTask(in: Self.interval) {
            let (gate, context) = bound.value
            gate.check = nil
            if gate.reserve.admits() { context.read() } else { gate.checkLater(context) }
        }
    }

    private func stop() {
        check?.cancel()
        check = nil
    }
}
