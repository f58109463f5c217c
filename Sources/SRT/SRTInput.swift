// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Networking
internal import Synchronization

/// Receives the transport stream of an SRT input. It opens one connection after another, in the mode of the address. A
/// listening port stays open between two connections.
///
/// One thread connects and receives. All other calls may be made on any thread.
///
/// ```swift
/// let input = try SRTInput(SRTURL("srt://:5000?mode=listener", for: .input)) { event in log(event) }
/// while let connection = try input.connect() {
///     while let count = input.receive(from: connection, into: buffer) { use(buffer, count) }
/// }
/// ```
package final class SRTInput: Sendable {
    /// Events that are reported to an operator. They contain no secrets.
    package enum Event: Sendable, Equatable {
        /// The port is open and waits for a sender.
        case waiting
        /// A transport stream arrives on the connection with the peer at this IP address.
        case connected(address: String, isEncrypted: Bool)
        /// The connection with the peer at this IP address was closed for this reason, because its stream cannot be
        /// used.
        case refused(address: String, reason: String)
        /// The connection was closed for this reason: another sender took its place.
        case ended(reason: String)
        /// This many packets did not arrive in time and are missing in the stream.
        case dropped(packets: Int64)
        /// A message about the listening port, in one sentence.
        case port(String)
    }

    private struct State {
        var registration: SRTServer.Registration?
        var connection: SRTConnection?
        /// The sum of the counters of earlier connections.
        var past = SRTInputStatistics.Totals()
        var connections: Int64 = 0
        var drops = SRTDropWatch()
        var limit = NoticeLimit()
    }

    /// The time within which the data of a new connection must be recognized as a transport stream.
    private static let patience = Duration.seconds(15)
    private static let pollInterval = Duration.milliseconds(10)

    private let url: SRTURL
    private let server: SRTServer
    private let clock: any MonotonicClock
    private let notice: @Sendable (Event) -> Void
    private let state = Mutex(State())
    private let isStopped = Atomic(false)

    /// Creates an input at `url` that is not open yet. `notice` is called with events, on any thread.
    package init(
        _ url: SRTURL, server: SRTServer = .shared, clock: any MonotonicClock = SystemClock(),
        notice: @escaping @Sendable (Event) -> Void
    ) {
        (self.url, self.server, self.clock, self.notice) = (url, server, clock, notice)
    }

    /// Whether the input waits for callers. It waits without a time limit.
    package var isListening: Bool { url.mode == .listener }

    /// The statistics from libsrt: the counters, summed over all connections, and the state of the current connection.
    package var statistics: SRTInputStatistics {
        state.withLock { state in
            var statistics = state.connection?.statistics ?? SRTInputStatistics()
            statistics.totals.add(state.past)
            statistics.connections = state.connections
            statistics.callersRejected = Int64(clamping: state.registration?.rejections ?? 0)
            return statistics
        }
    }

    /// Opens the next connection that delivers a transport stream, after closing the previous one. Returns nil if the
    /// input was stopped. Blocks; a listening input blocks without a time limit, and refuses senders of other data.
    /// Throws if the host's name cannot be resolved, if the port cannot be opened, or if the peer does not answer or
    /// sends no transport stream.
    package func connect() throws(OutputFailure) -> SRTConnection? {
        retire()
        while !hasEnded {
            let found = isListening ? try awaitCaller() : try call()
            guard let found else { continue }
            do throws(OutputFailure) {
                try check(found)
            } catch {
                if hasEnded { return nil }
                guard isListening else { throw error }
                refuse(found, because: error.reason)
                continue
            }
            state.withLock { state in
                state.connection = found
                state.connections += 1
                state.drops = SRTDropWatch()
            }
            tell(.connected(address: found.address, isEncrypted: found.isEncrypted))
            return hasEnded ? nil : found
        }
        return nil
    }

    /// Copies the next received bytes of `connection` into `buffer`. Returns the number of bytes, 0 if no data arrived
    /// within a tenth of a second, and nil at the end of the connection.
    package func receive(from connection: SRTConnection, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = connection.receive(into: buffer)
        if count == nil, let reason = connection.takeReason() { tell(.ended(reason: reason)) }
        let dropped = connection.statistics.totals.packetsDropped
        if let packets = state.withLock({ $0.drops.note(dropped, at: clock.now) }) {
            notice(.dropped(packets: packets))
        }
        return count
    }

    /// Closes `connection`, because its stream cannot be used, and reports `reason` to the operator.
    package func refuse(_ connection: SRTConnection, because reason: String) {
        connection.close()
        tell(.refused(address: connection.address, reason: reason))
    }

    /// Ends the input for good. The connection and the port are closed, and no more connections are opened. A second
    /// call does nothing.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        let (registration, connection) = state.withLock { ($0.registration, $0.connection) }
        registration?.cancel()
        connection?.close()
    }

    private var hasEnded: Bool { isStopped.load(ordering: .acquiring) }

    private func retire() {
        let former = state.withLock { state -> SRTConnection? in
            defer { state.connection = nil }
            return state.connection
        }
        guard let former else { return }
        former.close()
        state.withLock { $0.past.add(former.statistics.totals) }
    }

    /// Reports an event that callers can cause. At most 20 such events are reported per minute.
    private func tell(_ event: Event) {
        let now = clock.now
        if state.withLock({ $0.limit.admit(at: now) }) == .passed { notice(event) }
    }

    private func check(_ connection: SRTConnection) throws(OutputFailure) {
        let isStream = connection.isTransportStream(before: clock.now + Self.patience) { self.hasEnded }
        if isStream == true { return }
        let reason =
            isStream == false
            ? "what comes is not an MPEG transport stream"
            : connection.isOver ? "the peer ended the connection before it sent media" : "no media comes"
        throw OutputFailure(.rejected, step: "connect", reason: "\(url): \(reason)")
    }
}

// MARK: Listening and connecting

extension SRTInput {
    /// Opens the port if it is not open. Returns the connection of the next sender; nil if no sender connected within a
    /// tenth of a second.
    private func awaitCaller() throws(OutputFailure) -> SRTConnection? {
        if state.withLock({ $0.registration == nil }) {
            guard let address = try resolve().first else { return nil }
            let made = try server.receive(url, at: address) { [notice] in notice(.port($0)) }
            state.withLock { $0.registration = made }
            notice(.waiting)
            if hasEnded { made.cancel() }
        }
        return state.withLock { $0.registration }?.reception.next(within: .milliseconds(100))
    }

    /// Connects to the addresses of the peer, one after another, until one of them answers. Returns nil if the input
    /// was stopped.
    private func call() throws(OutputFailure) -> SRTConnection? {
        var addresses = try resolve()
        // With a local address set in the URL, only addresses of the same family (IPv4 or IPv6) can be used.
        if let local = url.local { addresses.removeAll { $0.family != local.family } }
        var failure = OutputFailure(
            .unreachable, step: "resolve", reason: "\(url): the name has no address of localaddr's family")
        for address in addresses where !hasEnded {
            do throws(OutputFailure) {
                return try call(address)
            } catch {
                guard error.kind == .unreachable else { throw error }
                failure = error
            }
        }
        if hasEnded { return nil }
        throw failure
    }

    private func call(_ address: HostAddress) throws(OutputFailure) -> SRTConnection? {
        let socket = try SRTSocket(receiving: url)
        if let local = url.localAddress(for: address) { try socket.bind(to: local, url: url) }
        try socket.connect(to: address, url: url)
        // This limit is a second longer than the time limit for connecting that libsrt itself applies.
        let deadline = clock.now + .milliseconds(url.connectMilliseconds + 1000)
        while !hasEnded {
            switch socket.condition {
            case .connected: return SRTConnection(socket, to: address.description, clock: clock)
            case .pending where clock.now < deadline: clock.sleep(until: clock.now + Self.pollInterval)
            case .pending, .broken: throw socket.rejection(of: url)
            }
        }
        return nil
    }

    private final class Answer: Sendable {
        let value = Mutex<HostResolver.Answer?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }

    /// Looks up the addresses of the host. Returns no addresses if the input was stopped.
    private func resolve() throws(OutputFailure) -> [HostAddress] {
        let answer = Answer()
        HostResolver.shared.resolve(url.host, port: url.port) { result in
            answer.value.withLock { $0 = result }
            answer.isThere.signal()
        }
        while !hasEnded {
            if answer.isThere.wait(timeout: .now() + .milliseconds(100)) == .success {
                return try answer.value.withLock { $0 }?.get() ?? []
            }
        }
        return []
    }
}

/// Decides when an operator is told that packets did not arrive in time. It does no I/O and has no clock.
struct SRTDropWatch {
    /// The minimum interval between two reports.
    static let interval = Duration.seconds(10)

    private var told: Int64 = 0
    private var toldAt: MonotonicInstant?

    /// Records `total`, the number of all missing packets until `now`. Returns the number of missing packets to report,
    /// or nil if nothing is to be reported now.
    mutating func note(_ total: Int64, at now: MonotonicInstant) -> Int64? {
        guard total > told, toldAt.map({ now - $0 >= Self.interval }) ?? true else { return nil }
        defer { (told, toldAt) = (total, now) }
        return total - told
    }
}
