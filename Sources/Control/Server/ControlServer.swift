// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import NIOPosix
internal import Networking
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
        /// Whether another process already listens at the same socket or, in the result of a ``Trial``, at the same
        /// address.
        package var isInUse = false
    }

    struct State {
        var tasks: [Task<Void, Never>] = []
        var hasAddress = false
        var port: Int?
        var socket: ControlSocket?
        /// The timer that tries again to open the address or the socket; nil while none of them must be opened again.
        var retry: (any DispatchSourceTimer)?
        /// Why the last attempt to open the address or the socket failed, one sentence for each.
        var reasons: [String] = []
        var isStopped = false
    }

    let settings: ControlSettings
    let endpoints: [Endpoint]
    let tokens: TokenGuard
    let certificate = ServedCertificate()
    private let webhooks: Webhooks
    let logger: Logger
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let executor: LoopExecutor
    let state = Mutex(State())
    let queue = DispatchQueue(label: "relay.control.listen")

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
                    wrongStreamKeys: host.wrongStreamKeys, acceptPauses: DescriptorReserve.shared.pauses,
                    certificateExpiry: certificate.expiry,
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

    /// Begins to listen and to deliver events. Blocks until the server listens, for at most 5 s for the address and 5 s
    /// for the socket. If one of them cannot be opened, the server logs the failure and tries again every 10 s, because
    /// media must not wait for the HTTP server. Throws only if another process answers at the socket. That is usually a
    /// relay with the same configuration, and the same configuration must not run twice.
    package func start() throws(Failure) {
        let failures = open()
        if let other = failures.first(where: \.isInUse) {
            stop()
            throw other
        }
        tell(failures)
        if !failures.isEmpty { openLater() }
        webhooks.start()
    }

    /// Delivers the last events, closes all connections and stops listening. If a webhook is slow, blocks for at most a
    /// second.
    package func stop() {
        webhooks.stop()
        let (tasks, socket) = state.withLock { state in
            state.isStopped = true
            state.retry?.cancel()
            defer { (state.tasks, state.socket, state.retry) = ([], nil, nil) }
            return (state.tasks, state.socket)
        }
        for task in tasks { task.cancel() }
        socket?.remove()
    }
}

// MARK: Trials

extension ControlServer {
    /// The result of testing whether the server can listen at one address or one socket.
    package struct Trial: Sendable {
        /// The address, or the path of the socket.
        package let place: String
        /// Why the server cannot listen there; nil if it can.
        package let failure: Failure?
    }

    /// Tests whether the server can use the address, the socket and the certificate in `settings`. Serves no client.
    /// Blocks.
    package static func trial(of settings: ControlSettings, logger: Logger) -> [Trial] {
        var trials: [Trial] = []
        if let address = settings.address {
            trials.append(Trial(place: address.text, failure: failure(at: address, settings, logger)))
        }
        if let path = settings.socket {
            do throws(Failure) {
                _ = try ControlSocket(path)
                trials.append(Trial(place: path, failure: nil))
            } catch {
                trials.append(Trial(place: path, failure: error))
            }
        }
        return trials
    }

    private static func failure(
        at address: ControlSettings.Address, _ settings: ControlSettings, _ logger: Logger
    ) -> Failure? {
        do throws(Failure) {
            if let pair = settings.certificate { _ = try identity(pair, logger) }
        } catch {
            return error
        }
        do {
            let channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: address.host, port: address.port).wait()
            try channel.close().wait()
            return nil
        } catch {
            let isInUse = (error as? IOError)?.errnoCode == EADDRINUSE
            return Failure(
                description: "The HTTP server cannot listen at \(address.text): \(error).", isInUse: isInUse)
        }
    }
}

/// Runs the tasks of requests on the thread of the event loop that serves the connections. A request that is answered
/// at once then needs no other thread; waking one would cost more than the response. Blocking work must not run on this
/// thread: see ``Blocking``.
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

    /// How long a client may stop reading. A player that has buffered enough stops reading for less than that.
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

extension Channel {
    /// Closes the connection after `time`, unless the returned task is cancelled before. Any thread may call it.
    @discardableResult
    func close(in time: TimeAmount) -> Scheduled<Void> {
        eventLoop.scheduleTask(in: time) { self.close(mode: .all, promise: nil) }
    }
}
