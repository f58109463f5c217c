// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import NIOPosix
package import Status
internal import Synchronization

/// The HTTP server with the API, events, metrics and the web page. It listens at a network address, at a Unix socket
/// for commands, or at both.
///
/// Any thread may use it. One thread serves all connections; blocking calls to the host run on other threads.
///
/// ```swift
/// var settings = ControlSettings()
/// settings.address = ControlSettings.Address(host: "127.0.0.1", port: 8080)
/// let server = ControlServer(settings, host: host, events: events, version: "1.0", logger: logger)
/// try server.start()
/// defer { server.stop() }
/// ```
package final class ControlServer: Sendable {
    /// Why the server cannot listen, in a sentence.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct State {
        var tasks: [Task<Void, Never>] = []
        var port: Int?
        var socket: ControlSocket?
    }

    /// How long a connection may be idle, or take to send a request's head.
    private static let idleTimeout = TimeAmount.seconds(30)
    /// How long it may take to begin to listen at the address.
    private static let startTimeout = DispatchTimeInterval.seconds(5)
    private static let mostHeaderBytes = 16 << 10
    private static let mostHeaders = 100

    private let settings: ControlSettings
    private let endpoints: [Endpoint]
    private let tokens: TokenGuard
    private let certificate = ServedCertificate()
    private let webhooks: Webhooks
    private let logger: Logger
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let executor: LoopExecutor
    private let state = Mutex(State())

    /// Creates a server that is not started. `version` is the version of relay; `events` is the log whose events are
    /// published.
    package init(
        _ settings: ControlSettings, host: any ControlledHost, events: EventLog, version: String, logger: Logger
    ) {
        self.settings = settings
        self.logger = logger
        tokens = TokenGuard(settings.tokens)
        webhooks = Webhooks(settings.webhooks, events: events, logger: logger)
        executor = LoopExecutor(group.next())
        let reports = ReportCache(host, version: version) { [tokens, certificate, webhooks] reports in
            MetricsText.render(
                MetricsSnapshot(
                    channels: reports, version: version, failedLogins: tokens.failures,
                    wrongStreamKeys: host.wrongStreamKeys, certificateExpiry: certificate.expiry,
                    process: ProcessUsage.now, webhooks: webhooks.statuses))
        }
        endpoints =
            ChannelRoutes(host: host, reports: reports).endpoints + ProgramRoutes(host: host).endpoints
            + RunDownRoutes(host: host).endpoints
            + RecordingRoutes(host: host).endpoints
            + ExportRoutes(host: host).endpoints + ClipRoutes(host: host).endpoints
            + HostRoutes(host: host, reports: reports, events: EventStream(reports: reports, log: events)).endpoints
            + PreviewRoutes(host: host).endpoints
            + SessionRoutes(tokens: tokens, settings: settings).endpoints + PageRoutes().endpoints
    }

    /// All operations, in the form `GET /v1`. A test compares them with the API's description.
    package var operations: [String] { endpoints.map { "\($0.method.rawValue) \($0.path)" } }

    /// The port of the network listener; nil before it listens, or if there is no network address.
    package var port: Int? { state.withLock { $0.port } }

    /// Begins to listen and to deliver events. Blocks until the server listens, for at most 5 s.
    package func start() throws(Failure) {
        if let address = settings.address {
            let files = try settings.certificate.map(certificateFiles)
            let place = BindAddress.hostname(address.host, port: address.port)
            let port = try listen(at: place, files: files, isLocal: false, name: address.text)
            state.withLock { $0.port = port }
            // If the settings leave the choice of the port to the system, the log shows the actual port.
            let opened = ControlSettings.Address(host: address.host, port: port ?? address.port)
            logger.info("HTTP at \(opened.text)")
        }
        if let path = settings.socket { try listen(atSocket: path) }
        webhooks.start()
    }

    /// Delivers the last events, closes all connections and stops listening. If a webhook is slow, blocks for at most a
    /// second.
    package func stop() {
        webhooks.stop()
        let (tasks, socket) = state.withLock { state in
            defer { (state.tasks, state.socket) = ([], nil) }
            return (state.tasks, state.socket)
        }
        for task in tasks { task.cancel() }
        socket?.remove()
    }

    /// Reads the files of the certificate and its key. Throws if they cannot be used.
    private func certificateFiles(_ pair: (certificate: String, key: String)) throws(Failure) -> CertificateFiles {
        do {
            let files = try CertificateFiles(pair, logger: logger)
            certificate.show(files)
            return files
        } catch {
            throw Failure(description: "The HTTP server's certificate cannot be used: \(error).")
        }
    }

    private static var http: HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [StallGuard()], idleTimeout: idleTimeout,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: mostHeaderBytes, maxHeaderListSize: mostHeaderBytes,
                maxHeaderFieldCount: mostHeaders))
    }

    private func listen(atSocket path: String) throws(Failure) {
        let socket = try ControlSocket(path)
        _ = try listen(
            at: .unixDomainSocket(path: socket.bindPath), files: nil, isLocal: true, name: path)
        try socket.publish()
        state.withLock { $0.socket = socket }
        logger.info("HTTP at \(path)")
    }

    /// Begins to listen, with TLS if there are `files`, and returns the port; nil if the port is unknown, or if `address`
    /// has no port.
    private func listen(
        at address: BindAddress, files: CertificateFiles?, isLocal: Bool, name: String
    ) throws(Failure) -> Int? {
        let server = HTTPServerBuilder { responder in
            ControlChannel(base: HTTP1Channel(responder: responder, configuration: Self.http), files: files)
        }
        let gate = RequestGate(settings: settings, tokens: tokens, isLocal: isLocal)
        var quiet = Logger(label: "relay.http")
        // Errors of clients do not concern the operator, so the library does not log them.
        quiet.logLevel = .critical
        let began = DispatchSemaphore(value: 0)
        let outcome = Mutex<(isOpen: Bool, port: Int?, error: String)>((false, nil, "it took too long"))
        let application = Application(
            responder: ControlResponder(endpoints, gate: gate, logger: logger), server: server,
            configuration: ApplicationConfiguration(
                address: address, serverName: "relay",
                availableConnectionsDelegate: MaximumAvailableConnections(settings.maximumConnections)),
            onServerRunning: { channel in
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
        state.withLock { $0.tasks.append(task) }
        _ = began.wait(timeout: .now() + Self.startTimeout)
        let (isOpen, port, error) = outcome.withLock { $0 }
        guard isOpen else {
            task.cancel()
            throw Failure(description: "The HTTP server cannot listen at \(name): \(error).")
        }
        return port
    }
}

/// Runs tasks on the thread of an event loop that also serves their connections. A request that is answered at once
/// then wakes no other thread, which would cost more than the response. Blocking work must not run here: see
/// ``Blocking``.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    /// Runs tasks on the thread of `loop`, which must outlive them.
    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Closes a connection whose client does not read its response, so that it does not occupy one of the limited
/// connections forever.
final class StallGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    /// Longer than a player that has buffered enough pauses reading.
    private static let patience = TimeAmount.seconds(60)

    private var deadline: Scheduled<Void>?

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            deadline?.cancel()
            deadline = nil
        } else if deadline == nil {
            deadline = context.channel.close(in: Self.patience)
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }
}
