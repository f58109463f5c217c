// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Glibc
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Networking
internal import Synchronization

/// One open port with its connections. All of them run on one event loop.
final class RTMPListener: Sendable {
    private struct Connection {
        let channel: any Channel
        let network: ClientNetwork
        /// Whether the connection waits for a request: it has not named an existing stream yet, or its last stream has
        /// ended.
        var isWaiting = true
    }

    private struct State {
        var endpoints: [RTMPEndpoint] = []
        var connections: [UInt64: Connection] = [:]
        /// The waiting connections, oldest first. Each connection is in the list only once.
        var waiting: [UInt64] = []
        var lastID: UInt64 = 0
        /// Number of decisions in progress. `undecided` is the queue of further decisions.
        var decisions = 0
        var undecided = Deque<@Sendable () -> Void>()
        /// Number of closed connections by cause.
        var closed: [RTMPServerStatus.Cause: UInt64] = [:]
    }

    /// The result of accepting a connection.
    private struct Admission {
        /// The number of the new connection; nil if there are too many connections.
        let id: UInt64?
        /// The older connection that was closed to make room for the new one; nil if there was room.
        var evicted: (any Channel)?
    }

    /// The open port.
    private struct Opened {
        let channel: any Channel
        let name: String
        let port: UInt16
    }

    let limits: RTMPServerLimits
    /// Counts the wrong stream keys of all listeners.
    let keys: StreamKeyGuard
    let notice: @Sendable (String) -> Void
    private let warning: @Sendable (String) -> Void
    private let identity: TLSServerIdentity?
    private let loop: any EventLoop
    private let reserve: DescriptorReserve
    private let state = Mutex(State())
    private let opened = Mutex<Opened?>(nil)

    /// A listener that is not open yet.
    init(
        identity: TLSServerIdentity?, limits: RTMPServerLimits, keys: StreamKeyGuard, loop: any EventLoop,
        reserve: DescriptorReserve, notice: @escaping @Sendable (String) -> Void,
        warning: @escaping @Sendable (String) -> Void
    ) {
        self.identity = identity
        self.limits = limits
        self.keys = keys
        self.loop = loop
        self.reserve = reserve
        self.notice = notice
        self.warning = warning
    }

    /// Opens the port. Blocks. Throws the reason if it cannot be opened.
    func open(host: String, port: UInt16) throws(OutputFailure) {
        do {
            let channel = try bootstrap()
                .childChannelInitializer { [weak self] channel in
                    channel.eventLoop.makeCompletedFuture {
                        guard let self else { throw RTMPServer.failure("the port is being closed") }
                        try self.accept(channel)
                    }
                }
                .bind(host: host, port: Int(port)).wait()
            let own = UInt16(clamping: channel.localAddress?.port ?? Int(port))
            let name = "\(URLParts.bracketed(host)):\(own)"
            opened.withLock { $0 = Opened(channel: channel, name: name, port: own) }
        } catch let error as IOError {
            // If the port cannot be opened now, opening can succeed later, because another process can release the
            // port, or the address can be added to the machine. Only a missing permission is final.
            let kind: OutputFailure.Kind = [EACCES, EPERM].contains(error.errnoCode) ? .refused : .unreachable
            let reason = TCPSocket.message(error.errnoCode)
            throw OutputFailure(kind, step: "listen", reason: "\(URLParts.bracketed(host)):\(port): \(reason)")
        } catch {
            throw OutputFailure(.unreachable, step: "listen", reason: "\(URLParts.bracketed(host)):\(port): \(error)")
        }
    }

    /// The number of the open port; 0 if no port is open.
    var port: UInt16 { opened.withLock { $0?.port ?? 0 } }
    /// The address and port of the listener, for notices; empty if no port is open.
    var name: String { opened.withLock { $0?.name ?? "" } }
    var isSecure: Bool { identity != nil }

    private func bootstrap() -> ServerBootstrap {
        let keepAlive: [(CInt, CInt)] = [(TCP_KEEPIDLE, 10), (TCP_KEEPINTVL, 5), (TCP_KEEPCNT, 3)]
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 512)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { [reserve, warning] channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(DescriptorGate(reserve) { warning("RTMP: \($0)") })
                    // After an accept that failed, for example with EMFILE, the next accept waits a second. Otherwise
                    // the thread would try without a pause, because the connection stays in the kernel's queue.
                    try pipeline.addHandler(AcceptBackoffHandler(shouldForwardIOErrorCaught: false))
                }
            }
            // Nagle's algorithm is turned off: with it, each round trip of a command would take 40 ms longer.
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            // Only one piece of data is read at a time. Unread data stays in the kernel, where it slows down its sender
            // but no other client.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 2048, maximum: 65_536)
            )
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 16 << 10, high: 64 << 10))
        return keepAlive.reduce(bootstrap) { bootstrap, option in
            bootstrap.childChannelOption(.tcpOption(.init(rawValue: option.0)), value: SocketOptionValue(option.1))
        }
    }

    private func accept(_ channel: any Channel) throws {
        let address = channel.remoteAddress?.ipAddress ?? "?"
        let admission = admit(channel, from: ClientNetwork(address))
        if let evicted = admission.evicted { evicted.close(promise: nil) }
        guard let id = admission.id else { throw RTMPServer.failure("too many connections") }
        channel.closeFuture.whenComplete { [weak self] _ in self?.forget(id) }
        try identity?.secure(channel)
        try channel.pipeline.syncOperations.addHandler(RTMPServerHandler(listener: self, id: id, address: address))
    }

    private func admit(_ channel: any Channel, from network: ClientNetwork) -> Admission {
        state.withLock { state in
            let ofNetwork = state.waiting.filter { state.connections[$0]?.network == network }
            var evicted: (any Channel)?
            let isFull = state.waiting.count >= limits.waiting
            let oldest =
                ofNetwork.count >= limits.waitingPerNetwork ? ofNetwork.first : isFull ? state.waiting.first : nil
            if let oldest {
                // The oldest waiting connection is closed, because it has had time to request a stream and has not done
                // so. The newest connection can come from a real client.
                evicted = state.connections.removeValue(forKey: oldest)?.channel
                state.waiting.removeAll { $0 == oldest }
                state.closed[.crowded, default: 0] += 1
            }
            state.lastID += 1
            guard state.connections.count < limits.connections else {
                state.closed[.crowded, default: 0] += 1
                return Admission(id: nil, evicted: evicted)
            }
            state.connections[state.lastID] = Connection(channel: channel, network: network)
            state.waiting.append(state.lastID)
            return Admission(id: state.lastID, evicted: evicted)
        }
    }

    /// Records whether the connection `id` waits for a request, which it does at first and after each stream, or has
    /// named an existing stream.
    func note(_ id: UInt64, isWaiting: Bool) {
        state.withLock { state in
            guard state.connections[id] != nil, state.connections[id]?.isWaiting != isWaiting else { return }
            state.connections[id]?.isWaiting = isWaiting
            if isWaiting { state.waiting.append(id) } else { state.waiting.removeAll { $0 == id } }
        }
    }

    /// Removes a connection that has ended or was handed over.
    func forget(_ id: UInt64) {
        state.withLock { state in
            state.connections[id] = nil
            state.waiting.removeAll { $0 == id }
        }
    }

    /// Calls `ask` at once or, while the maximum number of decisions is in progress, puts it into a queue.
    /// ``decided()`` must be called after each call of `ask`.
    func decide(_ ask: @escaping @Sendable () -> Void) {
        let isTurn = state.withLock { state in
            guard state.decisions < limits.decisions else {
                state.undecided.append(ask)
                return false
            }
            state.decisions += 1
            return true
        }
        if isTurn { ask() }
    }

    /// Reports that a decision was made or is no longer needed, and starts the next decision in the queue.
    func decided() {
        let next = state.withLock { state in
            let next = state.undecided.popFirst()
            if next == nil { state.decisions -= 1 }
            return next
        }
        next?()
    }

    /// Counts a wrong stream key that a client from `network` presented.
    func recordWrongKey(from network: ClientNetwork) {
        if let report = keys.record(from: network) { warning("RTMP at \(name): \(report)") }
    }

    /// Counts a connection that the listener closes.
    func count(_ cause: RTMPServerStatus.Cause) { state.withLock { $0.closed[cause, default: 0] += 1 } }

    /// The current connections, and the number of connections that the listener closed.
    var status: RTMPServerStatus.Listener {
        let (name, isSecure) = (name, isSecure)
        return state.withLock { state in
            RTMPServerStatus.Listener(
                address: name, isSecure: isSecure, connections: state.connections.count, waiting: state.waiting.count,
                players: state.endpoints.reduce(0) { $0 + $1.players }, accepted: state.lastID,
                closed: Dictionary(uniqueKeysWithValues: state.closed.map { ($0.key.rawValue, $0.value) }))
        }
    }

    /// Starts to serve a stream. Returns false if a stream with the same role and name exists already and `endpoint` is
    /// not its successor.
    func add(_ endpoint: RTMPEndpoint) -> Bool {
        state.withLock { state in
            let url = endpoint.url
            let isTaken = state.endpoints.contains { $0.url.role == url.role && $0.url.path == url.path }
            guard !isTaken || endpoint.isSuccessor else { return false }
            // The first stream that matches a request is served, so a successor comes before the stream that ends.
            state.endpoints.insert(endpoint, at: 0)
            return true
        }
    }

    /// Whether each stream of the port is offered at one of these addresses.
    func offersOnly(_ addresses: Set<String>) -> Bool {
        let urls = state.withLock { $0.endpoints.map(\.url) }
        return urls.allSatisfy { $0.role == .output && addresses.contains($0.description) }
    }

    /// Stops serving the stream. Returns whether it was the last stream.
    func remove(_ endpoint: RTMPEndpoint) -> Bool {
        state.withLock { state in
            let count = state.endpoints.count
            state.endpoints.removeAll { $0 === endpoint }
            return count > 0 && state.endpoints.isEmpty
        }
    }

    /// The stream that `request` names; nil if no stream matches. All streams are compared, so that the time does not
    /// depend on the match.
    func endpoint(for request: RTMPStreamRequest) -> RTMPEndpoint? {
        let endpoints = state.withLock { $0.endpoints }
        return endpoints.filter { $0.matches(request) }.first
    }

    /// Completes when the port is closed; nil if the port was not open.
    var closing: EventLoopFuture<Void>? { opened.withLock { $0?.channel.closeFuture } }

    /// Closes the port and all connections except those of accepted players. Returns at once.
    func close() {
        opened.withLock { $0?.channel }?.close(promise: nil)
        let connections = state.withLock { $0.connections.values.map(\.channel) }
        for channel in connections { channel.close(promise: nil) }
    }
}
