// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes
internal import Networking
internal import Synchronization

/// Limits the number of connections of one listener: each connection takes a seat. When all seats are taken, a new
/// connection replaces an idle one. The replaced connection is the one that has been idle longest in the network with
/// the most connections. No connection is taken from a network with fewer connections than the network of the new
/// client. So clients that connect and send nothing cannot keep other clients out. Any thread may use it.
final class ConnectionSeats: Sendable {
    private struct Seat {
        let channel: any Channel
        let network: ClientNetwork
        /// Whether a request of this connection is being answered.
        var isBusy = false
        /// The number of the last change to this seat. The idle connection with the smallest number has been idle
        /// longest.
        var turn: UInt64
    }

    private struct State {
        var seats: [ObjectIdentifier: Seat] = [:]
        var turn: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Seats for `limit` connections.
    init(_ limit: Int) { self.limit = limit }

    /// Takes a seat for `channel` until it is closed. If no seat is free and no connection may be closed, `channel`
    /// gets an extra seat; the server limits the number of extra seats.
    func enter(_ channel: any Channel) {
        let network = ClientNetwork(channel.remoteAddress?.ipAddress ?? "")
        let evicted = state.withLock { state in
            var evicted: [any Channel] = []
            while state.seats.count >= limit, let channel = Self.idlest(state.seats, besides: network) {
                state.seats[ObjectIdentifier(channel)] = nil
                evicted.append(channel)
            }
            state.turn += 1
            state.seats[ObjectIdentifier(channel)] = Seat(channel: channel, network: network, turn: state.turn)
            return evicted
        }
        for channel in evicted { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { [weak self] _ in self?.leave(channel) }
    }

    /// Records that the server has begun or finished answering a request on `channel`.
    func note(_ channel: any Channel, isBusy: Bool) {
        state.withLock { state in
            state.turn += 1
            state.seats[ObjectIdentifier(channel)]?.isBusy = isBusy
            state.seats[ObjectIdentifier(channel)]?.turn = state.turn
        }
    }

    private func leave(_ channel: any Channel) {
        state.withLock { $0.seats[ObjectIdentifier(channel)] = nil }
    }

    /// The idle connection to close for a new connection from `network`; nil if no connection may be closed.
    private static func idlest(
        _ seats: [ObjectIdentifier: Seat], besides network: ClientNetwork
    ) -> (any Channel)? {
        let networks = Dictionary(grouping: seats.values, by: \.network)
        let least = networks[network]?.count ?? 0
        let idle = seats.values.filter { !$0.isBusy && networks[$0.network, default: []].count >= least }
        let first = idle.max { one, other in
            let (count, otherCount) = (networks[one.network]?.count ?? 0, networks[other.network]?.count ?? 0)
            return (count, other.turn) < (otherCount, one.turn)
        }
        return first?.channel
    }
}

/// Tells ``ConnectionSeats`` when the server begins to answer a request on a connection, and when the answer is
/// complete.
final class SeatHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let seats: ConnectionSeats

    init(_ seats: ConnectionSeats) { self.seats = seats }

    func handlerAdded(context: ChannelHandlerContext) { seats.enter(context.channel) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The connection counts as idle until the request is complete, so that a client cannot keep its seat by sending
        // slowly.
        if case .end = unwrapInboundIn(data) { seats.note(context.channel, isBusy: true) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { seats.note(context.channel, isBusy: false) }
        context.write(data, promise: promise)
    }
}
