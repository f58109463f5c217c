// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Media
internal import Networking
internal import RTMP
internal import Synchronization

/// One attempt to publish on an RTMP server.
///
/// The steps that block (connecting, proxy, TLS, and what librtmp does) run on the attempt's own thread. Each step has
/// a deadline, and all steps together have one. A step is interrupted by shutting down the attempt's sockets.
final class RTMPAttempt: OutputAttempt {
    private struct State {
        /// Whether the server did not accept the stream within ``acceptTimeout``.
        var isOverdue = false
        var wantsLive = false
        var wantsDrain = false
        var step = "resolve"
        /// The sockets that are still connecting or, after that, the single socket that librtmp uses.
        var sockets: [TCPSocket] = []
        var connection: RTMPConnection?
    }

    /// The maximum time for opening a TCP connection. After that the attempt fails, and a later attempt connects again.
    private static let connectTimeout = Duration.seconds(4)
    /// The maximum time for the response of a proxy, and for a TLS handshake.
    private static let openTimeout = Duration.seconds(5)
    /// The number of connections that a login needs. The first has no credentials, the second has the user name, and
    /// the third has the response to the server's challenge.
    private static let loginConnections = 3
    /// The maximum time from the attempt's start until the server accepts the stream. A server that hangs usually
    /// recovers within this time, and is then used at once.
    private static let acceptTimeout = Duration.seconds(10)

    private let writer: RTMPWriter
    private let url: RTMPURL
    private let transport: RTMPTransport
    private let name: String
    private let packets: PacketQueue
    private let streams: StreamDescription
    private let carriage: Carriage
    private let report: AttemptReport
    private let clock: any MonotonicClock
    private let state = Mutex(State())

    init(
        url: RTMPURL, transport: RTMPTransport, name: String, writer: RTMPWriter, packets: PacketQueue,
        description: StreamDescription, carriage: Carriage = .rtmp, clock: any MonotonicClock = SystemClock(),
        report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        self.url = url
        self.transport = transport
        self.writer = writer
        self.packets = packets
        self.clock = clock
        self.report = AttemptReport(clock: clock, report)
        streams = description
        self.carriage = carriage
        self.name = name
    }

    var progress: AttemptProgress { state.withLock { $0.connection }?.progress ?? AttemptProgress() }

    func start() {
        _ = TCPSocket.ignoresBrokenPipes
        report.tell(.step("resolve"))
        let (host, port) = transport.proxy.map { ($0.host, $0.port) } ?? (url.host, url.port)
        HostResolver.shared.resolve(host, port: port) { answer in
            switch answer {
            case .success(let addresses): self.begin(addresses)
            case .failure(let failure): self.report.end(.failed(failure))
            }
        }
        let wait = DispatchTimeInterval.nanoseconds(Int(Self.acceptTimeout.inNanoseconds))
        DispatchQueue.global().asyncAfter(deadline: .now() + wait) { [weak self] in self?.acceptanceIsDue() }
    }

    func goLive() {
        let connection = state.withLock { state in
            state.wantsLive = true
            return state.connection
        }
        connection?.goLive()
    }

    var server: any PacketServer { writer }

    func drain(until deadline: MonotonicInstant, reason: EndReason) {
        let connection = state.withLock { state in
            state.wantsDrain = true
            return state.connection
        }
        connection?.drain()
    }

    func abandon() {
        // The report is silenced before the sockets are taken out of the state. A thread that registers a socket later
        // then sees that the attempt has ended.
        report.silence()
        let (sockets, connection) = state.withLock { state in
            defer { state.sockets = [] }
            return (state.sockets, state.connection)
        }
        connection?.abandon()
        interrupt(sockets)
    }
}

// MARK: Connecting, on the attempt's thread

extension RTMPAttempt {
    private func begin(_ addresses: [HostAddress]) {
        let code = BlockingWork.start(name) { self.publish(at: addresses) }
        guard code != 0 else { return }
        let reason = "no thread to connect on: \(TCPSocket.message(code))"
        report.end(.failed(OutputFailure(.unreachable, step: "connect", reason: reason)))
    }

    private func publish(at addresses: [HostAddress]) {
        var login = RTMPLogin(url: url)
        var answer = ""
        do throws(OutputFailure) {
            for _ in 0..<Self.loginConnections {
                let socket = try open(addresses)
                let session = try RTMPSession(
                    url: url, login: answer, socket: socket, isEnhanced: carriage == .enhancedRTMP)
                do throws(OutputFailure) {
                    try session.connect()
                    try check(session.capabilities)
                    try enter("publish")
                    try session.publish()
                    return handOver(session, socket)
                } catch {
                    socket.resetOnClose()
                    guard let message = session.refusal, let next = try login.answer(to: message) else { throw error }
                    answer = next
                }
            }
            throw OutputFailure(.refused, step: "handshake", reason: "\(url): the login does not come to an end")
        } catch {
            report.end(.failed(error))
        }
    }

    /// Refuses a stream that has a codec which the server, by its own statement, does not accept.
    private func check(_ capabilities: RTMPCapabilities) throws(OutputFailure) {
        let unknown = capabilities.unknownCodecs(of: streams)
        guard !unknown.isEmpty else { return }
        let names = unknown.map(\.description).joined(separator: " and ")
        throw OutputFailure(.refused, step: "publish", reason: "\(url): the server does not take \(names)")
    }

    /// Opens the connection, through a proxy and with TLS if they are configured. Returns a blocking socket for RTMP.
    private func open(_ addresses: [HostAddress]) throws(OutputFailure) -> TCPSocket {
        try enter("connect")
        let proxy = transport.proxy
        var socket = try TCPSocket.connect(
            to: addresses, name: proxy?.description ?? "\(url.host) port \(url.port)", within: Self.connectTimeout
        ) { adopt($0, alone: false) }
        guard adopt(socket, alone: true) else { throw abandoned }
        if let proxy {
            try enter("proxy")
            try socket.tunnel(through: proxy, to: url.host, port: url.port, within: Self.openTimeout)
        }
        if url.isSecure {
            try enter("tls")
            socket = try TLSTunnel.open(over: socket, host: url.host, trust: transport.tls, within: Self.openTimeout)
            guard adopt(socket, alone: true) else {
                socket.resetOnClose()
                throw abandoned
            }
        }
        try enter("handshake")
        socket.setBlocking(timeout: Self.acceptTimeout)
        return socket
    }

    /// Registers a socket, so that ``interrupt(_:)`` shuts it down. Returns false if the attempt has ended and does not
    /// need the socket any more.
    private func adopt(_ socket: TCPSocket, alone: Bool) -> Bool {
        state.withLock { state in
            guard !report.isOver, !state.isOverdue else { return false }
            state.sockets = alone ? [socket] : state.sockets + [socket]
            return true
        }
    }

    private func handOver(_ session: RTMPSession, _ socket: TCPSocket) {
        let connection = RTMPConnection(
            to: .server(url), socket: socket, handover: session.handOver(), writer: writer, packets: packets,
            description: streams, carriage: carriage, clock: clock, report: report)
        let wants = state.withLock { state in
            guard !report.isOver, !state.isOverdue else { return nil as State? }
            state.connection = connection
            state.sockets = []
            return state
        }
        guard let wants else { return socket.resetOnClose() }
        report.tell(.accepted)
        if wants.wantsLive { connection.goLive() }
        if wants.wantsDrain { connection.drain() }
    }
}

// MARK: Reporting steps and ending, on any thread

extension RTMPAttempt {
    private var abandoned: OutputFailure { OutputFailure(.unreachable, step: "connect", reason: "abandoned") }

    /// Stores and reports the step that begins now. Throws if the attempt has ended.
    private func enter(_ step: String) throws(OutputFailure) {
        state.withLock { $0.step = step }
        if report.isOver { throw abandoned }
        report.tell(.step(step))
    }

    private func interrupt(_ sockets: [TCPSocket]) {
        for socket in sockets {
            socket.resetOnClose()
            socket.shutDown()
        }
    }

    private func acceptanceIsDue() {
        let overdue = state.withLock { state -> (String, [TCPSocket])? in
            guard state.connection == nil, !report.isOver else { return nil }
            defer { state.sockets = [] }
            state.isOverdue = true
            return (state.step, state.sockets)
        }
        guard let (step, sockets) = overdue else { return }
        let reason = "\(url): no answer within \(Self.acceptTimeout.components.seconds) s"
        report.end(.failed(OutputFailure(.unreachable, step: step, reason: reason)))
        interrupt(sockets)
    }
}
