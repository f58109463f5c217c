// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

extension HTTPClient {
    /// Connects to the endpoint within `limit`. The connection is closed if nothing arrives for the duration `idle`.
    func connect(within limit: Duration, idle: Duration?) async throws -> Exchange {
        let deadline = ContinuousClock.now + limit
        switch endpoint.place {
        case .socket(let path):
            return try await connect(
                to: SocketAddress(unixDomainSocketPath: path), within: limit, by: deadline, idle: idle, tls: nil)
        case .tcp(let host, let port, let isSecure):
            let addresses = AddressRace.interleaved(try await resolve(host, port, within: limit))
            let tls = try isSecure ? Self.context(for: trust, of: host) : nil
            for address in addresses.dropLast() {
                // Each address but the last gets half of the remaining time, so that an address that does not answer
                // leaves time for the next one.
                let share = max(.milliseconds(100), (deadline - .now) / 2)
                do {
                    return try await connect(
                        to: SocketAddress(address, port: port), within: share, by: deadline, idle: idle, tls: tls)
                } catch let failure as OutputFailure {
                    throw failure
                } catch {
                    continue
                }
            }
            guard let last = addresses.last else { throw Self.failure("the name has no address") }
            let rest = max(.milliseconds(100), deadline - .now)
            return try await connect(
                to: SocketAddress(last, port: port), within: rest, by: deadline, idle: idle, tls: tls)
        }
    }

    private static func context(for trust: TLSVerification, of host: String) throws -> NIOSSLContext {
        try TLSContexts.shared.context(for: trust, isAddress: HostAddress(literal: host, port: 0) != nil)
    }

    /// Resolves `host` within `limit`, because the resolver's own limit may be longer.
    private func resolve(_ host: String, _ port: UInt16, within limit: Duration) async throws -> [HostAddress] {
        let (answers, giver) = AsyncThrowingStream.makeStream(of: [HostAddress].self)
        resolver.resolve(host, port: port) { answer in
            giver.yield(with: answer.mapError { $0 as any Error })
            giver.finish()
        }
        let watch = Self.group.next().scheduleTask(in: .nanoseconds(limit.inNanoseconds)) {
            let reason = "\(host): the name server did not answer within \(DurationText(limit))"
            giver.finish(throwing: OutputFailure(.unreachable, step: "resolve", reason: reason))
        }
        defer { watch.cancel() }
        for try await addresses in answers { return addresses }
        throw CancellationError()
    }

    /// Connects within `limit`, and completes the TLS handshake by `deadline`. Throws ``OutputFailure`` if the server
    /// answered but the handshake failed.
    private func connect(
        to address: SocketAddress, within limit: Duration, by deadline: ContinuousClock.Instant, idle: Duration?,
        tls: NIOSSLContext?
    ) async throws -> Exchange {
        try Task.checkCancellation()
        let loop = Self.group.next()
        let secured = tls.map { _ in loop.makePromise(of: Void.self) }
        do {
            let exchange = try await ClientBootstrap(group: loop)
                .connectTimeout(.nanoseconds(limit.inNanoseconds))
                .connect(to: address) { channel in
                    channel.eventLoop.makeCompletedFuture { try assemble(channel, tls, secured, idle) }
                }
            guard let secured else { return exchange }
            let rest = max(.milliseconds(100), deadline - .now)
            let watch = loop.scheduleTask(in: .nanoseconds(rest.inNanoseconds)) {
                exchange.channel.close(promise: nil)
            }
            defer { watch.cancel() }
            do {
                try await secured.futureResult.get()
                return exchange
            } catch {
                try? await exchange.executeThenClose { _ in }
                throw error as? OutputFailure ?? OutputFailure(.rejected, step: "tls", reason: "\(error)")
            }
        } catch {
            secured?.fail(error)
            throw error
        }
    }

    private func assemble(
        _ channel: any Channel, _ tls: NIOSSLContext?, _ secured: EventLoopPromise<Void>?, _ idle: Duration?
    ) throws -> Exchange {
        let pipeline = channel.pipeline.syncOperations
        if let tls, let secured, case .tcp(let host, _, _) = endpoint.place {
            let address = HostAddress(literal: host, port: 0)?.networkBytes
            // An IP address is not sent in the server name extension, which does not allow IP addresses (RFC 6066, 3).
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: address == nil ? host : nil))
            try pipeline.addHandler(
                TLSGuard(host: host, address: trust == .insecure ? nil : address, handshake: secured, ended: { _ in }))
        }
        if let idle {
            try pipeline.addHandler(IdleStateHandler(readTimeout: TimeAmount.nanoseconds(idle.inNanoseconds)))
            try pipeline.addHandler(IdleEnd())
        }
        try pipeline.addHTTPClientHandlers()
        return try Exchange(wrappingChannelSynchronously: channel)
    }
}

extension SocketAddress {
    fileprivate init(_ address: HostAddress, port: UInt16) throws {
        try self.init(ipAddress: address.description, port: Int(port))
    }
}

/// Closes a connection that receives nothing for too long.
private final class IdleEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
