// SPDX-License-Identifier: Apache-2.0

package import Media
internal import NIOCore
internal import NIOPosix
package import Networking
internal import Synchronization

/// Receives and offers streams over RTMP and RTMPS: one listener for each address and port, shared by all inputs and
/// outputs that name it, and open as long as one of them does. All calls may come from any thread.
package final class RTMPServer: Sendable {
    /// Serves a stream as long as it is held, or until it is cancelled.
    package final class Registration: Sendable {
        /// The port that is listened at, for those who asked for any.
        package let port: UInt16
        private let end: @Sendable () -> Void

        init(port: UInt16, end: @escaping @Sendable () -> Void) {
            self.port = port
            self.end = end
        }

        deinit { end() }

        /// The stream is neither received nor offered any more: a publisher's connection is closed, players that were
        /// accepted keep theirs. A second call does nothing.
        package func cancel() { end() }
    }

    private struct Place: Hashable {
        let host: String
        let port: UInt16
    }

    private struct State {
        var listeners: [Place: RTMPListener] = [:]
        /// Ends of ports that were given up: until then the system refuses to open them again.
        var closings: [EventLoopFuture<Void>] = []

        mutating func takeClosings() -> [EventLoopFuture<Void>] {
            defer { closings = [] }
            return closings
        }
    }

    /// All connections of a listener are on one of them.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    private let limits: RTMPServerLimits
    private let notice: @Sendable (String) -> Void
    private let state = Mutex(State())
    /// Held while a port is opened, which may wait for one that is being closed.
    private let opening = Mutex<Void>(())

    /// A server that listens nowhere yet. `notice` is told what an operator should know, one sentence without secrets, on
    /// any thread; a hostile client can cause as many as it likes.
    package init(
        limits: RTMPServerLimits = RTMPServerLimits(), notice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.limits = limits
        self.notice = notice
    }

    /// Receives the stream at `url`, an input, for `receiver`. `identity` is the certificate if the address is secure;
    /// the port shows that of the stream that opened it. Blocks until the port is open. Throws if it cannot be opened,
    /// or if the stream is received already.
    package func receive(
        _ url: RTMPListenURL, identity: TLSServerIdentity? = nil, authorization: RTMPAuthorization? = nil,
        receiver: any RTMPStreamReceiver
    ) throws(OutputFailure) -> Registration {
        try register(RTMPEndpoint(url, .receive(receiver), authorization: authorization), identity)
    }

    /// Offers the stream at `url`, an output, to players, which are handed to `host`. Otherwise it behaves like
    /// ``receive(_:identity:authorization:receiver:)``.
    package func offer(
        _ url: RTMPListenURL, identity: TLSServerIdentity? = nil, authorization: RTMPAuthorization? = nil,
        host: any RTMPPlayerHost
    ) throws(OutputFailure) -> Registration {
        try register(RTMPEndpoint(url, .offer(host), authorization: authorization), identity)
    }

    /// What the listeners hold and what they turned away.
    package var status: RTMPServerStatus {
        let all = state.withLock { Array($0.listeners.values) }
        return RTMPServerStatus(listeners: all.map(\.status).sorted { $0.address < $1.address })
    }

    private func register(
        _ endpoint: RTMPEndpoint, _ identity: TLSServerIdentity?
    ) throws(OutputFailure) -> Registration {
        let url = endpoint.url
        guard url.isSecure == (identity != nil) else {
            throw Self.failure("\(url): a secure address needs a certificate and a key, and no other has them")
        }
        let place = Place(host: url.host, port: url.port)
        let listener = try listener(at: place, for: endpoint, identity)
        return Registration(port: listener.port) { self.remove(endpoint, from: listener, at: place) }
    }

    /// Returns the listener at `place`, which serves `endpoint` from now on; opens it if it does not exist yet.
    private func listener(
        at place: Place, for endpoint: RTMPEndpoint, _ identity: TLSServerIdentity?
    ) throws(OutputFailure) -> RTMPListener {
        if let listener = try join(endpoint, at: place) { return listener }
        let result = opening.withLock { _ -> Result<RTMPListener, OutputFailure> in
            do throws(OutputFailure) {
                // It may have been opened while this waited.
                if let listener = try join(endpoint, at: place) { return .success(listener) }
                let listener = RTMPListener(
                    identity: identity, limits: limits, loop: Self.group.next(), notice: notice)
                _ = listener.add(endpoint)
                for closing in state.withLock({ $0.takeClosings() }) { try? closing.wait() }
                try listener.open(host: place.host, port: place.port)
                state.withLock { $0.listeners[place] = listener }
                return .success(listener)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The listener at `place`, which serves `endpoint` from now on; nil if the port is not open.
    private func join(_ endpoint: RTMPEndpoint, at place: Place) throws(OutputFailure) -> RTMPListener? {
        let url = endpoint.url
        let result = state.withLock { state -> Result<RTMPListener?, OutputFailure> in
            guard let listener = state.listeners[place] else { return .success(nil) }
            guard listener.isSecure == url.isSecure else {
                return .failure(Self.failure("\(url): the port is used with and without TLS"))
            }
            guard listener.add(endpoint) else {
                return .failure(Self.failure("\(url): the stream is named twice"))
            }
            return .success(listener)
        }
        return try result.get()
    }

    /// Any thread, also those of connections.
    private func remove(_ endpoint: RTMPEndpoint, from listener: RTMPListener, at place: Place) {
        endpoint.cancel()
        let isLast = state.withLock { state in
            guard listener.remove(endpoint) else { return false }
            state.listeners[place] = nil
            if let closing = listener.closing { state.closings.append(closing) }
            return true
        }
        // Not under the lock: on its own loop a channel closes at once, and tells all who asked.
        if isLast { listener.close() }
    }

    static func failure(_ reason: String) -> OutputFailure {
        OutputFailure(.refused, step: "listen", reason: reason)
    }
}

/// Bounds of what clients may do to a server.
package struct RTMPServerLimits: Sendable {
    /// Connections that have not named an existing stream. One more takes the place of the oldest.
    package var waiting = 512
    /// Such connections from one IP address.
    package var waitingPerAddress = 128
    /// Connections in all. One more is closed.
    package var connections = 1024
    /// How many decisions may be asked for at the same time: each may be a process. Others wait for their turn.
    package var decisions = 32
    /// How long the handshake may take, with that of TLS.
    package var handshakeTime = Duration.seconds(5)
    /// How long it may take from the connection, or from the end of a stream, to the next wish to publish or play.
    package var requestTime = Duration.seconds(10)
    /// How long the decision about a wish may take, with the wait for its turn.
    package var authorizationTime = Duration.seconds(10)
    /// How long a publisher may send nothing.
    package var silence = Duration.seconds(15)
    /// After so long without a byte a publisher loses its stream to another one that has the key.
    package var takeoverSilence = Duration.seconds(3)
    /// How long a client that was refused has to read why.
    package var refusalTime = Duration.milliseconds(300)

    /// The usual bounds.
    package init() {}
}
