// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes
internal import Networking
internal import Synchronization

/// The connections of one listener. When all seats are taken, a new connection gets the seat of an idle one: of the
/// network with the most connections, the one that has been idle longest, but of no network with fewer connections than
/// its own. So clients that connect and stay silent keep no other client out. Any thread may use it.
final class ConnectionSeats: Sendable {
    private struct Seat {
        let channel: any Channel
        let network: ClientNetwork
        /// Whether the connection has a request that is being answered.
        var isBusy = false
        /// Rises with each change, so the smallest one has been idle longest.
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

    /// Takes a seat for `channel` until it is closed. If no seat is free and none is idle, there is one seat more; the
    /// server limits how many.
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

    /// Records that `channel` has begun, or has ended, to answer a request.
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

    /// The connection that gives way to one of `network`; nil if no idle one may be closed.
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

/// Tells the seats whether a connection answers a request.
final class SeatHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let seats: ConnectionSeats

    init(_ seats: ConnectionSeats) { self.seats = seats }

    func handlerAdded(context: ChannelHandlerContext) { seats.enter(context.channel) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A request that is not complete leaves the connection idle: sending slowly must not keep a seat.
        if case .end = unwrapInboundIn(data) { seats.note(context.channel, isBusy: true) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { seats.note(context.channel, isBusy: false) }
        context.write(data, promise: promise)
    }
}
