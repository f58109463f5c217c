// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// Asks HTTP servers: a connection for each request, a deadline for each step, certificates verified. It follows no
/// redirect: what is sent goes where it was meant to go, or nowhere.
///
/// All calls may come from any task, and return as soon as that is cancelled.
package struct HTTPClient: Sendable {
    /// What is asked.
    package struct Request: Sendable {
        var method: String
        var path: String
        var headers: [(name: String, value: String)]
        var body: [UInt8]

        /// A request of `path`, which stands behind the endpoint's own; nil for that alone.
        package init(
            _ method: String, _ path: String? = nil, headers: [(name: String, value: String)] = [], body: [UInt8] = []
        ) {
            (self.method, self.path, self.headers, self.body) = (method, path ?? "", headers, body)
        }
    }

    /// The beginning of an answer.
    package struct Head: Sendable {
        /// Such as 200.
        package let status: Int
        /// What kind of body it is, in lower case and without parameters; nil if it is not said.
        package let contentType: String?
        /// Bytes of the body; nil if that is not said.
        package let length: Int64?

        /// Whether what was asked for was done.
        package var isSuccess: Bool { (200..<300).contains(status) }
    }

    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private static let longestIdle = TimeAmount.seconds(30)

    private let endpoint: HTTPEndpoint
    private let trust: TLSVerification

    /// A client of the server at `endpoint`, whose certificate must be one of `trust`.
    package init(_ endpoint: HTTPEndpoint, trust: TLSVerification = .system) {
        (self.endpoint, self.trust) = (endpoint, trust)
    }

    /// Sends `request`, and returns the whole answer, which must come within `limit` and have `mostBytes` at most; without
    /// its body, however long that is, unless it `readsBody`.
    package func answer(
        to request: Request, within limit: Duration, mostBytes: Int = 1 << 20, readsBody: Bool = true
    ) async throws(EndpointFailure) -> (head: Head, body: [UInt8]) {
        let late = EndpointFailure(.unreachable, step: "answer", reason: "none came within \(DurationText(limit))")
        do {
            return try await withThrowingTaskGroup(of: (head: Head, body: [UInt8]).self) { group in
                group.addTask {
                    var body: [UInt8] = []
                    let head = try await exchange(request, connecting: limit) { _, piece in
                        body += piece.readableBytesView
                        guard body.count <= mostBytes else { throw Self.failure("the answer is too large") }
                        return readsBody
                    }
                    return (head, body)
                }
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw late
                }
                defer { group.cancelAll() }
                // The first to end: there are two.
                guard let answer = try await group.next() else { throw late }
                return answer
            }
        } catch {
            throw Self.told(error)
        }
    }

    /// Sends `request`, and hands the answer's bytes to `take` as they come, until it returns false or they end. Fails
    /// where nothing comes for 30 s, too. Returns the answer's beginning. Throws ``EndpointFailure``, or what `take` throws.
    package func stream(
        _ request: Request, connecting limit: Duration, _ take: (Head, [UInt8]) async throws -> Bool
    ) async throws -> Head {
        var own: (any Error)?
        do {
            return try await exchange(request, connecting: limit) { head, piece in
                do {
                    return try await take(head, Array(piece.readableBytesView))
                } catch {
                    own = error
                    throw error
                }
            }
        } catch {
            throw own ?? Self.told(error)
        }
    }
}

// MARK: One exchange

extension HTTPClient {
    private typealias Exchange = NIOAsyncChannel<HTTPClientResponsePart, Never>

    /// Connects, sends `request`, and hands the pieces of the answer's body to `take` until it returns false. The
    /// connection is closed afterwards.
    private func exchange(
        _ request: Request, connecting limit: Duration, _ take: (Head, ByteBuffer) async throws -> Bool
    ) async throws -> Head {
        let exchange = try await connect(within: limit)
        return try await exchange.executeThenClose { inbound in
            try await send(request, to: exchange.channel)
            var head: Head?
            for try await part in inbound {
                switch (part, head) {
                case (.head(let first), _):
                    let first = Head(first)
                    head = first
                    // Who wants no more than this says so now.
                    if try await !take(first, ByteBuffer()) { return first }
                case (.body(let piece), let head?): if try await !take(head, piece) { return head }
                case (.end, let head?): return head
                default: break
                }
            }
            try Task.checkCancellation()
            throw Self.failure("the server closed the connection \(head == nil ? "without" : "within") an answer")
        }
    }

    private func send(_ request: Request, to channel: any Channel) async throws {
        var headers = HTTPHeaders([
            ("Host", endpoint.host), ("Connection", "close"), ("User-Agent", "relay"), ("Accept", "*/*"),
        ])
        if let authorization = endpoint.authorization { headers.add(name: "Authorization", value: authorization) }
        for (name, value) in request.headers { headers.replaceOrAdd(name: name, value: value) }
        if !request.body.isEmpty || request.method != "GET" {
            headers.replaceOrAdd(name: "Content-Length", value: "\(request.body.count)")
        }
        // What stands behind a base ends in one slash, not two.
        let base = endpoint.path.hasSuffix("/") ? String(endpoint.path.dropLast()) : endpoint.path
        let path = request.path.isEmpty ? endpoint.path : base + request.path
        let head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: path, headers: headers)
        try await channel.eventLoop.flatSubmit {
            let operations = channel.pipeline.syncOperations
            operations.write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
            if !request.body.isEmpty {
                let part = HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: request.body)))
                operations.write(NIOAny(part), promise: nil)
            }
            let sent = channel.eventLoop.makePromise(of: Void.self)
            operations.writeAndFlush(NIOAny(HTTPClientRequestPart.end(nil)), promise: sent)
            return sent.futureResult
        }.get()
    }
}

// MARK: The connection

extension HTTPClient {
    private func connect(within limit: Duration) async throws -> Exchange {
        switch endpoint.place {
        case .socket(let path):
            return try await connect(to: SocketAddress(unixDomainSocketPath: path), within: limit, tls: nil)
        case .tcp(let host, let port, let isSecure):
            let deadline = ContinuousClock.now + limit
            let addresses = AddressRace.interleaved(try await Self.resolve(host, port))
            let tls = try isSecure ? Self.context(for: trust, of: host) : nil
            for address in addresses.dropLast() {
                // What does not answer must leave time for the next.
                let share = max(.milliseconds(100), (deadline - .now) / 2)
                do {
                    return try await connect(to: SocketAddress(address, port: port), within: share, tls: tls)
                } catch let failure as EndpointFailure {
                    throw failure
                } catch {
                    continue
                }
            }
            guard let last = addresses.last else { throw Self.failure("the name has no address") }
            let rest = max(.milliseconds(100), deadline - .now)
            return try await connect(to: SocketAddress(last, port: port), within: rest, tls: tls)
        }
    }

    private static func context(for trust: TLSVerification, of host: String) throws -> NIOSSLContext {
        try TLSContexts.shared.context(for: trust, isAddress: HostAddress(literal: host, port: 0) != nil)
    }

    private static func resolve(_ host: String, _ port: UInt16) async throws -> [HostAddress] {
        try await withCheckedThrowingContinuation { continuation in
            HostResolver.shared.resolve(host, port: port) { continuation.resume(with: $0) }
        }
    }

    /// Throws ``EndpointFailure`` where the server answered and TLS did not come about.
    private func connect(
        to address: SocketAddress, within limit: Duration, tls: NIOSSLContext?
    ) async throws -> Exchange {
        try Task.checkCancellation()
        let loop = Self.group.next()
        let secured = tls.map { _ in loop.makePromise(of: Void.self) }
        do {
            let exchange = try await ClientBootstrap(group: loop)
                .connectTimeout(.nanoseconds(limit.inNanoseconds))
                .connect(to: address) { channel in
                    channel.eventLoop.makeCompletedFuture { try assemble(channel, tls, secured) }
                }
            guard let secured else { return exchange }
            let watch = loop.scheduleTask(in: .nanoseconds(limit.inNanoseconds)) {
                exchange.channel.close(promise: nil)
            }
            defer { watch.cancel() }
            do {
                try await secured.futureResult.get()
                return exchange
            } catch {
                try? await exchange.executeThenClose { _ in }
                throw error as? EndpointFailure ?? EndpointFailure(.rejected, step: "tls", reason: "\(error)")
            }
        } catch {
            secured?.fail(error)
            throw error
        }
    }

    private func assemble(
        _ channel: any Channel, _ tls: NIOSSLContext?, _ secured: EventLoopPromise<Void>?
    ) throws -> Exchange {
        let pipeline = channel.pipeline.syncOperations
        if let tls, let secured, case .tcp(let host, _, _) = endpoint.place {
            let address = HostAddress(literal: host, port: 0)?.networkBytes
            // A literal has no place in the server name extension (RFC 6066, 3).
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: address == nil ? host : nil))
            try pipeline.addHandler(
                TLSGuard(host: host, address: trust == .insecure ? nil : address, handshake: secured, ended: { _ in }))
        }
        try pipeline.addHandler(IdleStateHandler(readTimeout: Self.longestIdle))
        try pipeline.addHandler(IdleEnd())
        try pipeline.addHTTPClientHandlers()
        return try Exchange(wrappingChannelSynchronously: channel)
    }
}

// MARK: Words

extension HTTPClient {
    fileprivate static func failure(_ reason: String) -> EndpointFailure {
        EndpointFailure(.rejected, step: "answer", reason: reason)
    }

    /// `error` in an operator's words.
    private static func told(_ error: any Error) -> EndpointFailure {
        switch error {
        case let failure as EndpointFailure: failure
        case is CancellationError: EndpointFailure(.unreachable, step: "answer", reason: "it was ended")
        case ChannelError.connectTimeout:
            EndpointFailure(.unreachable, step: "connect", reason: "nobody answers")
        case let error as IOError:
            EndpointFailure(.unreachable, step: "connect", reason: TCPSocket.message(error.errnoCode))
        case is HTTPParserError: failure("it is no HTTP")
        case is ChannelError: failure("the connection was closed")
        default: failure("\(error)")
        }
    }
}

extension HTTPClient.Head {
    fileprivate init(_ head: HTTPResponseHead) {
        status = Int(head.status.code)
        contentType = head.headers.first(name: "Content-Type").map { String($0.prefix { $0 != ";" }).lowercased() }
        length = head.headers.first(name: "Content-Length").flatMap { Int64($0) }
    }
}

extension SocketAddress {
    fileprivate init(_ address: HostAddress, port: UInt16) throws {
        try self.init(ipAddress: address.description, port: Int(port))
    }
}

/// Ends a connection by which nothing comes any more.
private final class IdleEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}
