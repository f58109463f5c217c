// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Media
internal import Networking
internal import Synchronization

/// Receives an input's transport stream over SRT: opens one connection after another, in the address's mode. A
/// listening port stays open between two connections.
///
/// One thread connects and receives; all other calls may come from any thread.
///
/// ```swift
/// let input = try SRTInput(SRTURL("srt://:5000?mode=listener", for: .input)) { event in log(event) }
/// while let connection = try input.connect() {
///     while let count = input.receive(from: connection, into: buffer) { use(buffer, count) }
/// }
/// ```
package final class SRTInput: Sendable {
    /// Events for an operator, without secrets.
    package enum Event: Sendable, Equatable {
        /// The port is open and waits for a sender.
        case waiting
        /// The connection from this IP address carries a stream.
        case connected(address: String, isEncrypted: Bool)
        /// A caller from this IP address was accepted and then closed, for this reason.
        case refused(address: String, reason: String)
        /// The connection ended, for this reason.
        case ended(reason: String)
        /// This many packets did not arrive in time and are missing.
        case dropped(packets: Int64)
        /// A message about a listening port, in one sentence.
        case port(String)
    }

    private struct State {
        var registration: SRTServer.Registration?
        var connection: SRTConnection?
        /// The counters of earlier connections, and the number of connections.
        var past = SRTInputStatistics.Totals()
        var connections: Int64 = 0
        var drops = SRTDropWatch()
        var limit = NoticeLimit()
    }

    /// How long a new connection may take to prove that it carries a transport stream.
    private static let patience = Duration.seconds(15).inNanoseconds
    private static let pollInterval = Duration.milliseconds(10).inNanoseconds

    private let url: SRTURL
    private let server: SRTServer
    private let clock: any MonotonicClock
    private let notice: @Sendable (Event) -> Void
    private let state = Mutex(State())
    private let isStopped = Atomic(false)

    /// An input at `url` that is not open yet. `notice` receives events on any thread.
    package init(
        _ url: SRTURL, server: SRTServer = .shared, clock: any MonotonicClock = SystemClock(),
        notice: @escaping @Sendable (Event) -> Void
    ) {
        (self.url, self.server, self.clock, self.notice) = (url, server, clock, notice)
    }

    /// Whether the input waits for callers, without a time limit.
    package var isListening: Bool { url.mode == .listener }

    /// The library's counters, summed over all connections.
    package var statistics: SRTInputStatistics {
        state.withLock { state in
            var statistics = state.connection?.statistics ?? SRTInputStatistics()
            statistics.totals.add(state.past)
            statistics.connections = state.connections
            statistics.callersRejected = Int64(clamping: state.registration?.rejections ?? 0)
            return statistics
        }
    }

    /// Opens the next connection that carries a transport stream, and closes the previous one; nil if the input was
    /// stopped. Blocks; a listener blocks without a time limit. Throws if the port cannot be opened, if the peer does
    /// not answer, or if it sends other data.
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

    /// Copies the next bytes of `connection` into `buffer`. Returns their count, 0 if no data arrived within a tenth of
    /// a second, and nil at the end.
    package func receive(from connection: SRTConnection, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = connection.receive(into: buffer)
        if count == nil, let reason = connection.takeReason() { tell(.ended(reason: reason)) }
        let dropped = connection.statistics.totals.packetsDropped
        if let packets = state.withLock({ $0.drops.note(dropped, at: clock.now) }) {
            notice(.dropped(packets: packets))
        }
        return count
    }

    /// Closes a connection whose stream cannot be used, and reports the reason to the operator.
    package func refuse(_ connection: SRTConnection, because reason: String) {
        connection.close()
        tell(.refused(address: connection.address, reason: reason))
    }

    /// Ends the input: connects no more, and closes the connection and the port. A second call does nothing.
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

    /// Reports an event that callers cause, at most 20 times a minute.
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
    /// Returns the next sender's connection; nil if none arrived within a tenth of a second.
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

    /// Connects to the peer's addresses one after another; nil if the input was stopped.
    private func call() throws(OutputFailure) -> SRTConnection? {
        var addresses = try resolve()
        // Our own address determines the address family.
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
        // The library's own time limit is shorter.
        let deadline = clock.now + Duration.milliseconds(url.connectMilliseconds + 1000).inNanoseconds
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

    /// The addresses of the host; empty if the input was stopped.
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

/// Decides when an operator is informed that packets did not arrive in time. A value without its own clock.
struct SRTDropWatch {
    /// The minimum interval between two reports, in nanoseconds.
    static let interval = Duration.seconds(10).inNanoseconds

    private var told: Int64 = 0
    private var toldAt: Int64?

    /// Records the total number of missing packets at `now`. Returns the number to report.
    mutating func note(_ total: Int64, at now: Int64) -> Int64? {
        guard total > told, toldAt.map({ now - $0 >= Self.interval }) ?? true else { return nil }
        defer { (told, toldAt) = (total, now) }
        return total - told
    }
}
