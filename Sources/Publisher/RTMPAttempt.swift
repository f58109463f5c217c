// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Media
internal import Synchronization

/// One attempt to publish on an RTMP server.
///
/// What blocks (names, connecting, librtmp's part) runs on a thread of the attempt's own; it may be blocked for good,
/// because a deadline reports for it and nobody waits for it.
final class RTMPAttempt: OutputAttempt {
    private struct State {
        var isOver = false
        var wantsLive = false
        var wantsDrain = false
        var step = "resolve"
        var socket: TCPSocket?
        var connection: RTMPConnection?
    }

    /// A TCP connection stands within this, or is tried again later.
    private static let connectMilliseconds: Int64 = 4_000
    /// From the start to the server's acceptance: longer than a frozen server usually sleeps, so that one that comes
    /// back is served at once.
    private static let acceptSeconds = 10

    private let url: RTMPURL
    private let name: String
    private let writer: RTMPWriter
    private let packets: PacketQueue
    private let streams: StreamDescription
    private let report: @Sendable (AttemptEvent) -> Void
    private let state = Mutex(State())

    init(
        url: RTMPURL, name: String, writer: RTMPWriter, packets: PacketQueue, description: StreamDescription,
        report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        self.url = url
        self.writer = writer
        self.packets = packets
        self.report = report
        streams = description
        self.name = name
    }

    var progress: AttemptProgress { state.withLock { $0.connection }?.progress ?? AttemptProgress() }

    func start() {
        _ = TCPSocket.ignoresBrokenPipes
        report(.step("resolve"))
        HostResolver.shared.resolve(url.host, port: url.port) { answer in
            switch answer {
            case .success(let addresses): self.begin(addresses)
            case .failure(let failure): self.finish(.failed(failure))
            }
        }
        let deadline = DispatchTime.now() + .seconds(Self.acceptSeconds)
        DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in self?.acceptanceIsDue() }
    }

    func goLive() {
        let connection = state.withLock { state in
            state.wantsLive = true
            return state.connection
        }
        connection?.goLive()
    }

    func wake() {
        state.withLock { $0.wantsLive ? $0.connection : nil }?.wake()
    }

    func drain(until deadline: Int64) {
        let connection = state.withLock { state in
            state.wantsDrain = true
            return state.connection
        }
        connection?.drain()
    }

    func abandon() {
        let (socket, connection) = state.withLock { state in
            state.isOver = true
            return (state.socket, state.connection)
        }
        if let connection {
            connection.abandon()
        } else if let socket {
            socket.resetOnClose()
            socket.shutDown()
        }
    }
}

extension RTMPAttempt {
    private func begin(_ addresses: [HostAddress]) {
        let code = BlockingWork.start(name) { self.connect(addresses) }
        guard code != 0 else { return }
        let reason = "no thread to connect on: \(TCPSocket.message(code))"
        finish(.failed(OutputFailure(.unreachable, step: "connect", reason: reason)))
    }

    private func connect(_ addresses: [HostAddress]) {
        do throws(OutputFailure) {
            try enter("connect")
            let socket = try TCPSocket.connect(
                to: addresses, name: "\(url.host) port \(url.port)", milliseconds: Self.connectMilliseconds)
            let isWanted = state.withLock { state in
                state.socket = socket
                return !state.isOver
            }
            guard isWanted else { return }
            socket.setBlocking(timeoutSeconds: Self.acceptSeconds)
            try publish(over: socket)
        } catch {
            finish(.failed(error))
        }
    }

    private func publish(over socket: TCPSocket) throws(OutputFailure) {
        try enter("handshake")
        let session = try RTMPSession(url: url, socket: socket)
        do throws(OutputFailure) {
            try session.handshake()
            try enter("publish")
            try session.publish()
        } catch {
            socket.resetOnClose()
            throw error
        }
        let handover = session.handOver(from: socket)
        let connection = RTMPConnection(
            url: url, socket: handover.replacement ?? socket, handover: handover, writer: writer, packets: packets,
            description: streams, report: { [weak self] event in self?.forward(event) })
        let wants = state.withLock { state in
            guard !state.isOver else { return nil as State? }
            state.connection = connection
            state.socket = nil
            return state
        }
        guard let wants else { return }
        report(.accepted)
        if wants.wantsLive { connection.goLive() }
        if wants.wantsDrain { connection.drain() }
    }

    /// Notes and reports the step, unless the attempt is over.
    private func enter(_ step: String) throws(OutputFailure) {
        let isOver = state.withLock { state in
            state.step = step
            return state.isOver
        }
        if isOver { throw OutputFailure(.unreachable, step: step, reason: "abandoned") }
        report(.step(step))
    }

    private func acceptanceIsDue() {
        let overdue = state.withLock { state in
            state.connection == nil && !state.isOver ? (state.step, state.socket) : nil
        }
        guard let (step, socket) = overdue else { return }
        let reason = "\(url): no answer within \(Self.acceptSeconds) s"
        finish(.failed(OutputFailure(.unreachable, step: step, reason: reason)))
        socket?.resetOnClose()
        socket?.shutDown()
    }

    private func forward(_ event: AttemptEvent) {
        switch event {
        case .failed, .drained: finish(event)
        default: if !state.withLock({ $0.isOver }) { report(event) }
        }
    }

    /// Reports the end, once, and nothing if the attempt was abandoned.
    private func finish(_ event: AttemptEvent) {
        let isFirst = state.withLock { state in
            defer {
                state.isOver = true
                state.socket = nil
            }
            return !state.isOver
        }
        if isFirst { report(event) }
    }
}
