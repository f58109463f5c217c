// SPDX-License-Identifier: Apache-2.0

package import Media
internal import NIOCore
internal import NIOPosix
package import Networking
internal import Synchronization

/// Receives and offers streams over RTMP and RTMPS. Inputs and outputs with the same address and port share one
/// listener, which is open as long as one of them needs it. Can be used on any thread.
///
/// ```swift
/// let server = RTMPServer()
/// let url = try RTMPListenURL("rtmp-listen://127.0.0.1/live/secret", for: .input)
/// let registration = try server.receive(url, receiver: receiver)
/// registration.cancel()
/// ```
package final class RTMPServer: Sendable {
    /// Serves a stream as long as this object is held, or until it is cancelled.
    package final class Registration: Sendable {
        /// The open port. If the address has port 0, this is the port that the operating system has chosen.
        package let port: UInt16
        private let end: @Sendable () -> Void

        init(port: UInt16, end: @escaping @Sendable () -> Void) {
            self.port = port
            self.end = end
        }

        deinit { end() }

        /// Stops receiving or offering the stream. A publisher's connection is closed; accepted players keep their
        /// connections. A second call does nothing.
        package func cancel() { end() }
    }

    private struct Place: Hashable {
        let host: String
        let port: UInt16

        /// Whether the operating system refuses to open this place while `other` is open, because both have the same
        /// port and their addresses overlap.
        func overlaps(_ other: Place) -> Bool {
            let any: Set = ["0.0.0.0", "::"]
            return port == other.port && (host == other.host || any.contains(host) || any.contains(other.host))
        }
    }

    private struct State {
        var listeners: [Place: RTMPListener] = [:]
        /// Futures for ports that are being closed: until they complete, the operating system refuses to open the ports
        /// again.
        var closings: [EventLoopFuture<Void>] = []

        mutating func takeClosings() -> [EventLoopFuture<Void>] {
            defer { closings = [] }
            return closings
        }
    }

    /// Each listener keeps all its connections on one of these loops.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    private let limits: RTMPServerLimits
    private let keys: StreamKeyGuard
    private let reserve: DescriptorReserve
    private let notice: @Sendable (String) -> Void
    private let warning: @Sendable (String) -> Void
    private let state = Mutex(State())
    /// Locked while a port is opened. It is a lock of its own, because the opening may have to wait until an earlier
    /// listener has closed this port.
    private let opening = Mutex<Void>(())

    /// A server without listeners. `notice` is called on any thread with messages for an operator, each one sentence
    /// without secrets; a hostile client can cause any number of them. `warning` is called with messages that must not
    /// be lost among the notices: that keys are guessed, at most once a minute by `clock`, and that `reserve` forbids
    /// connections, at most once a minute. No connection is accepted while `reserve` forbids it.
    package init(
        limits: RTMPServerLimits = RTMPServerLimits(), clock: any MonotonicClock = SystemClock(),
        reserve: DescriptorReserve = .shared, notice: @escaping @Sendable (String) -> Void = { _ in },
        warning: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.limits = limits
        self.reserve = reserve
        self.notice = notice
        self.warning = warning
        keys = StreamKeyGuard(clock: clock)
    }

    /// The number of requests for an unknown stream, or with a wrong key for a stream.
    package var wrongKeys: UInt64 { keys.wrongKeys }

    /// Receives the stream at `url`, which is an input, for `receiver`. `identity` is the certificate for a secure
    /// address; all streams of a port use the certificate of the stream that opened the port. Without `authorization`,
    /// each client with the right key is accepted. Blocks until the port is open. Throws if the port cannot be opened,
    /// if it is used with another TLS setting, or if the stream is already received.
    package func receive(
        _ url: RTMPListenURL, identity: TLSServerIdentity? = nil, authorization: RTMPAuthorization? = nil,
        receiver: any RTMPStreamReceiver
    ) throws(OutputFailure) -> Registration {
        try register(RTMPEndpoint(url, .receive(receiver), authorization: authorization), identity)
    }

    /// Offers the stream at `url`, which is an output, to players, and passes them to `host`. If `isSuccessor` is set,
    /// another stream of the same name is allowed to be offered at the same time; new players get the new stream. In
    /// all other respects, this method works as ``receive(_:identity:authorization:receiver:)`` does.
    package func offer(
        _ url: RTMPListenURL, identity: TLSServerIdentity? = nil, authorization: RTMPAuthorization? = nil,
        isSuccessor: Bool = false, host: any RTMPPlayerHost
    ) throws(OutputFailure) -> Registration {
        try register(
            RTMPEndpoint(url, .offer(host), authorization: authorization, isSuccessor: isSuccessor), identity)
    }

    /// Whether the stream at `url` cannot be offered now, but can be offered when the streams at the addresses
    /// `leaving` have ended. Until then their listeners use the port at another local address, or with another TLS
    /// setting.
    package func isBlocked(_ url: RTMPListenURL, onlyBy leaving: Set<String>) -> Bool {
        let place = Place(host: url.host, port: url.port)
        let others = state.withLock { state in
            state.listeners.filter { other, listener in
                other.overlaps(place) && (other != place || listener.isSecure != url.isSecure)
            }.values.map(\.self)
        }
        return !others.isEmpty && others.allSatisfy { $0.offersOnly(leaving) }
    }

    /// The current connections of all listeners, and the number of connections that the listeners closed.
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

    /// Returns the listener at `place`, and adds `endpoint` to it. Opens the listener if necessary.
    private func listener(
        at place: Place, for endpoint: RTMPEndpoint, _ identity: TLSServerIdentity?
    ) throws(OutputFailure) -> RTMPListener {
        if let listener = try join(endpoint, at: place) { return listener }
        let result = opening.withLock { _ -> Result<RTMPListener, OutputFailure> in
            do throws(OutputFailure) {
                // Another thread may have opened the port while this thread waited for the lock.
                if let listener = try join(endpoint, at: place) { return .success(listener) }
                let listener = RTMPListener(
                    identity: identity, limits: limits, keys: keys, loop: Self.group.next(), reserve: reserve,
                    notice: notice, warning: warning)
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

    /// Adds `endpoint` to the listener at `place` and returns the listener; nil if the port is not open.
    private func join(_ endpoint: RTMPEndpoint, at place: Place) throws(OutputFailure) -> RTMPListener? {
        let url = endpoint.url
        let result = state.withLock { state -> Result<RTMPListener?, OutputFailure> in
            guard let listener = state.listeners[place] else { return .success(nil) }
            guard listener.isSecure == url.isSecure else {
                return .failure(Self.failure("\(url): the port is used with and without TLS"))
            }
            guard listener.add(endpoint) else { return .failure(Self.failure("\(url): the stream is named twice")) }
            return .success(listener)
        }
        return try result.get()
    }

    /// Stops serving a stream, and closes the port after its last stream. Can be called on any thread, including the
    /// connections' event loops.
    private func remove(_ endpoint: RTMPEndpoint, from listener: RTMPListener, at place: Place) {
        endpoint.cancel()
        let isLast = state.withLock { state in
            guard listener.remove(endpoint) else { return false }
            state.listeners[place] = nil
            if let closing = listener.closing { state.closings.append(closing) }
            return true
        }
        // `state` must not be locked here: on its own event loop, a channel closes at once and calls its observers.
        if isLast { listener.close() }
    }

    static func failure(_ reason: String) -> OutputFailure { OutputFailure(.refused, step: "listen", reason: reason) }
}

/// Limits for the clients of each listener.
package struct RTMPServerLimits: Sendable {
    /// The maximum number of connections that have not named an existing stream. A further connection replaces the
    /// oldest of them.
    package var waiting = 512
    /// The maximum number of connections from one IPv4 address or IPv6 /64 network that have not named an existing
    /// stream.
    package var waitingPerNetwork = 128
    /// The maximum number of connections in total, without those of accepted players. A further connection is closed.
    package var connections = 1024
    /// The maximum number of simultaneous decisions, because each decision can run a process. Further decisions wait in
    /// a queue.
    package var decisions = 32
    /// Time limit for the handshake, TLS included.
    package var handshakeTime = Duration.seconds(5)
    /// Time limit from the end of the handshake, or from the end of a stream, to the next request to publish or play.
    /// It also limits the time in which a player reads the server's answer.
    package var requestTime = Duration.seconds(10)
    /// How long a request waits until its key is checked, if ten wrong keys came from the client's network within ten
    /// seconds. Together with ``waitingPerNetwork``, this time limits how fast keys can be guessed.
    package var guessWait = Duration.seconds(5)
    /// Time limit for the decision about a request, including the wait in the queue.
    package var authorizationTime = Duration.seconds(10)
    /// The maximum time for which a publisher is allowed to be silent.
    package var silence = Duration.seconds(15)
    /// If a publisher was silent for this long, another publisher with the key can take over the stream.
    package var takeoverSilence = Duration.seconds(3)
    /// How long a refused client has to read the reason.
    package var refusalTime = Duration.milliseconds(300)

    package init() {}
}
