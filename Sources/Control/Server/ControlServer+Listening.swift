// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Networking
internal import Synchronization

extension ControlServer {
    /// The interval between attempts to open an address or a socket that could not be opened.
    private static let retryInterval = DispatchTimeInterval.seconds(10)
    /// How long a connection may be idle, or take to send a request's head.
    private static let idleTimeout = TimeAmount.seconds(30)
    /// The time within which the server must begin to listen at an address or a socket.
    private static let startTimeout = DispatchTimeInterval.seconds(5)
    /// The number of connections that the server accepts beyond the maximum of the settings. The server must accept a
    /// connection before it can choose an idle one to close. If all others are answering requests, it cannot close any.
    private static let spareConnections = 32
    private static let mostHeaderBytes = 16 << 10
    private static let mostHeaders = 100

    /// Begins to listen at the address and at the socket, if the server does not listen there yet. Returns a failure
    /// for each of the two that could not be opened. Blocks.
    func open() -> [Failure] {
        let (hasAddress, hasSocket) = state.withLock { ($0.hasAddress, $0.socket != nil) }
        var failures: [Failure] = []
        if let address = settings.address, !hasAddress {
            do { try listen(at: address) } catch { failures.append(error) }
        }
        if let path = settings.socket, !hasSocket {
            do { try listen(atSocket: path) } catch { failures.append(error) }
        }
        return failures
    }

    /// Logs the failures, unless the previous attempt failed for the same reasons.
    func tell(_ failures: [Failure]) {
        let reasons = failures.map(\.description)
        let isNew = state.withLock { state in
            defer { state.reasons = reasons }
            return state.reasons != reasons
        }
        guard isNew else { return }
        for failure in failures {
            logger.error("\(failure) Media does not wait for it; it is tried again every 10 s.")
        }
    }

    /// Starts a timer that tries to open the address and the socket until both are open.
    func openLater() {
        state.withLock { state in
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + Self.retryInterval, repeating: Self.retryInterval, leeway: .seconds(1))
            timer.setEventHandler { [weak self] in self?.openAgain() }
            timer.activate()
            state.retry = timer
        }
    }

    private func openAgain() {
        let failures = open()
        tell(failures)
        guard failures.isEmpty else { return }
        state.withLock { state in
            state.retry?.cancel()
            state.retry = nil
        }
    }

    /// Reads the files of a certificate and its key, and reads them again when they change. Throws if they cannot be
    /// used. An expired certificate is used and reported, because operators must still reach the API.
    static func identity(
        _ pair: (certificate: String, key: String), _ logger: Logger
    ) throws(Failure) -> TLSServerIdentity {
        do throws(OutputFailure) {
            return try TLSServerIdentity(certificate: pair.certificate, key: pair.key, isStrict: false) { notice in
                logger.log(level: notice.isError ? .error : .notice, "HTTP: \(notice)")
            }
        } catch {
            throw Failure(description: "The HTTP server's certificate cannot be used: \(error.reason).")
        }
    }

    private static func http(_ seats: ConnectionSeats) -> HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [StallGuard(), SeatHandler(seats)], idleTimeout: idleTimeout,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: mostHeaderBytes, maxHeaderListSize: mostHeaderBytes,
                maxHeaderFieldCount: mostHeaders))
    }

    /// Makes `channel`, a listening socket, accept no new connections while few descriptors are free. Commands at the
    /// local socket are always served. After a failed accept, for example with EMFILE, the `AcceptBackoffHandler` of
    /// the socket waits a second; the bootstrap that binds the socket adds this handler.
    private static func keepReserve(_ channel: any Channel, _ logger: Logger) async {
        let added = channel.eventLoop.submit {
            let gate = DescriptorGate(.shared) { logger.warning("HTTP: \($0)") }
            try channel.pipeline.syncOperations.addHandler(gate, position: .first)
        }
        // The handler cannot be added if the server is being closed. It is not needed then.
        try? await added.get()
    }

    private func listen(at address: ControlSettings.Address) throws(Failure) {
        let identity = try settings.certificate.map { (pair) throws(Failure) in try Self.identity(pair, logger) }
        if let identity { certificate.show(identity) }
        let place = BindAddress.hostname(address.host, port: address.port)
        let port = try listen(at: place, identity: identity, isLocal: false, name: address.text)
        state.withLock { ($0.hasAddress, $0.port) = (true, port) }
        // If the port in the settings is 0, the system chooses the port, and the log shows the chosen one.
        let opened = ControlSettings.Address(host: address.host, port: port ?? address.port)
        logger.info("HTTP at \(opened.text)")
    }

    private func listen(atSocket path: String) throws(Failure) {
        let socket = try ControlSocket(path)
        _ = try listen(at: .unixDomainSocket(path: socket.bindPath), identity: nil, isLocal: true, name: path)
        try socket.publish()
        let isStopped = state.withLock { state in
            if !state.isStopped { state.socket = socket }
            return state.isStopped
        }
        if isStopped { socket.remove() }
        logger.info("HTTP at \(path)")
    }

    /// Begins to listen at `address`, with TLS if there is an `identity`. Returns the port; nil if it is unknown, or if
    /// `address` has no port.
    private func listen(
        at address: BindAddress, identity: TLSServerIdentity?, isLocal: Bool, name: String
    ) throws(Failure) -> Int? {
        let seats = ConnectionSeats(settings.maximumConnections)
        let server = HTTPServerBuilder { responder in
            ControlChannel(
                base: HTTP1Channel(responder: responder, configuration: Self.http(seats)), identity: identity)
        }
        let gate = RequestGate(settings: settings, tokens: tokens, isLocal: isLocal)
        var quiet = Logger(label: "relay.http")
        // The HTTP library logs almost nothing: it must not log errors that clients cause, because they do not concern
        // the operator.
        quiet.logLevel = .critical
        let began = DispatchSemaphore(value: 0)
        let outcome = Mutex<(isOpen: Bool, port: Int?, error: String)>((false, nil, "it took too long"))
        let application = Application(
            responder: ControlResponder(endpoints, gate: gate, logger: logger), server: server,
            configuration: ApplicationConfiguration(
                address: address, serverName: "relay",
                availableConnectionsDelegate: MaximumAvailableConnections(
                    settings.maximumConnections + Self.spareConnections)),
            onServerRunning: { [logger] channel in
                if !isLocal { await Self.keepReserve(channel, logger) }
                outcome.withLock { ($0.isOpen, $0.port) = (true, channel.localAddress?.port) }
                began.signal()
            },
            eventLoopGroupProvider: .shared(group), logger: quiet)
        let task = Task(executorPreference: executor) { [logger] in
            do {
                try await application.run()
            } catch {
                outcome.withLock { $0.error = "\(error)" }
                if outcome.withLock({ $0.isOpen }) { logger.error("the HTTP server at \(name) ended: \(error)") }
                began.signal()
            }
        }
        _ = began.wait(timeout: .now() + Self.startTimeout)
        let (isOpen, port, error) = outcome.withLock { $0 }
        guard isOpen else {
            task.cancel()
            throw Failure(description: "The HTTP server cannot listen at \(name): \(error).")
        }
        let isStopped = state.withLock { state in
            if !state.isStopped { state.tasks.append(task) }
            return state.isStopped
        }
        if isStopped { task.cancel() }
        return port
    }
}
