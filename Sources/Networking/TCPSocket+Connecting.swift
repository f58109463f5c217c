// SPDX-License-Identifier: Apache-2.0

internal import CLinux  // the parts of netdb.h and sys/socket.h that the Glibc module lacks
internal import Glibc
package import Media

extension TCPSocket {
    /// A connection attempt.
    private struct Candidate {
        let address: HostAddress
        let socket: TCPSocket
    }

    /// Connects to the first of `addresses` that answers, and closes the other attempts. `timeout` is the limit for all
    /// attempts together. The returned socket is non-blocking, but this call blocks. Errors contain `name` as the name
    /// of the host.
    ///
    /// `opened` is called with each socket before the wait for its connection, and returns whether to continue. Another
    /// thread can end the wait by shutting these sockets down.
    package static func connect(
        to addresses: [HostAddress], name: String, within timeout: Duration, opened: (TCPSocket) -> Bool
    ) throws(OutputFailure) -> TCPSocket {
        let order = AddressRace.interleaved(addresses)
        let deadline = SystemClock().now + timeout
        var race = AddressRace(count: order.count, at: SystemClock().now)
        var candidates: [Candidate] = []
        var failures: [(HostAddress, String)] = []
        while race.nextStart != nil || !candidates.isEmpty {
            let now = SystemClock().now
            guard now < deadline else {
                failures += candidates.map { ($0.address, "no answer within \(timeout.inMilliseconds) ms") }
                break
            }
            if let index = race.next(at: now) {
                do throws(OutputFailure) {
                    let candidate = Candidate(address: order[index], socket: try TCPSocket(connectingTo: order[index]))
                    guard opened(candidate.socket) else { break }
                    candidates.append(candidate)
                } catch {
                    failures.append((order[index], error.reason))
                    race.failed(at: now)
                    continue
                }
            }
            if let winner = pollCandidates(
                &candidates, &race, &failures, until: min(deadline, race.nextStart ?? deadline))
            {
                return winner
            }
        }
        throw OutputFailure(.unreachable, step: "connect", reason: "\(name): \(sentence(failures))")
    }

    /// Waits until an attempt succeeds or fails, or until `time`. Returns the socket of the
    /// successful attempt, and removes the attempts that failed.
    private static func pollCandidates(
        _ candidates: inout [Candidate], _ race: inout AddressRace, _ failures: inout [(HostAddress, String)],
        until time: MonotonicInstant
    ) -> TCPSocket? {
        var entries = candidates.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLOUT), revents: 0) }
        let milliseconds = max(0, (time - SystemClock().now + .nanoseconds(999_999)).inMilliseconds)
        guard poll(&entries, nfds_t(entries.count), CInt(milliseconds)) > 0 else { return nil }
        var waiting: [Candidate] = []
        for (candidate, entry) in zip(candidates, entries) {
            guard entry.revents != 0 else {
                waiting.append(candidate)
                continue
            }
            let code = candidate.socket.pendingError
            if code == 0 && entry.revents & Int16(POLLHUP) == 0 { return candidate.socket }
            failures.append((candidate.address, message(code == 0 ? ECONNABORTED : code)))
            race.failed(at: SystemClock().now)
        }
        candidates = waiting
        return nil
    }

    /// One sentence with the failure of each address. It contains the addresses only if there are several.
    private static func sentence(_ failures: [(HostAddress, String)]) -> String {
        if failures.isEmpty { return "no address was tried" }
        if failures.count == 1 { return failures[0].1 }
        return failures.map { "\($0.0): \($0.1)" }.joined(separator: "; ")
    }

    /// Starts to connect to `address`.
    private convenience init(connectingTo address: HostAddress) throws(OutputFailure) {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else {
            throw OutputFailure(.unreachable, step: "connect", reason: "socket: \(Self.message(errno))")
        }
        self.init(owning: descriptor)
        setStreamOptions()
        guard address.withSockaddr({ Glibc.connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS else {
            throw OutputFailure(.unreachable, step: "connect", reason: Self.message(errno))
        }
    }

    /// `TCP_RTO_MAX_MS` (linux/tcp.h): the longest wait between two retransmissions, in milliseconds, at least 1000.
    private static let longestRetransmission: CInt = 44

    /// Sets the options that all connections have, outgoing and accepted ones.
    func setStreamOptions() {
        let tcp = CInt(IPPROTO_TCP)
        setOption(tcp, TCP_NODELAY, CInt(1))
        // With this timeout, a dead link is detected within 15 s, even while data is in flight. Its timer starts with
        // the first unacknowledged byte, and the kernel checks the timer at each retransmission. 6 s were too short in
        // practice (OBS 63c3299a9).
        setOption(tcp, TCP_USER_TIMEOUT, CInt(12_000))
        // Without this option, the kernel doubles the wait between retransmissions: 0.2, 0.4, … 6.4 s. After an outage
        // of 10 s, it would not retransmit before `TCP_USER_TIMEOUT` has passed, and the connection would be lost.
        // Kernels before 6.15 do not have the option.
        setOption(tcp, Self.longestRetransmission, CInt(1000))
        // The kernel may hold only this much unsent data. The rest of the backlog must stay in the output's queue,
        // where the drop policy can drop it.
        setOption(tcp, TCP_NOTSENT_LOWAT, CInt(256 << 10))
        setOption(SOL_SOCKET, SO_KEEPALIVE, CInt(1))
        setOption(tcp, TCP_KEEPIDLE, CInt(10))
        setOption(tcp, TCP_KEEPINTVL, CInt(5))
    }

    /// Asks `proxy`, to which this socket is connected, for a connection to `host`. Blocks until the proxy has
    /// answered, until `timeout` has passed, or until another thread shuts the socket down. The socket itself is
    /// non-blocking.
    package func tunnel(through proxy: ProxyURL, to host: String, port: UInt16, within timeout: Duration)
        throws(OutputFailure)
    {
        let deadline = SystemClock().now + timeout
        var dialogue = proxy.dialogue(host: host, port: port)
        var reaction = ProxyReaction.send(dialogue.begin())
        while reaction != .done {
            if case .send(let bytes) = reaction { try send(bytes, to: proxy) }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let left = (deadline - SystemClock().now).inMilliseconds
            guard left > 0, poll(&entry, 1, CInt(left)) != 0 else {
                throw proxy.failure(.unreachable, "no answer within \(timeout.inMilliseconds) ms")
            }
            reaction = try dialogue.take(try receive(proxy))
        }
    }

    /// Sends a short request, which a fresh connection accepts at once.
    private func send(_ bytes: [UInt8], to proxy: ProxyURL) throws(OutputFailure) {
        var buffer = OutboundBuffer()
        buffer.append(SharedBytes(bytes))
        guard send(buffer) == .bytes(bytes.count) else {
            throw proxy.failure(.unreachable, "sending to it: \(Self.message(errno))")
        }
    }

    private func receive(_ proxy: ProxyURL) throws(OutputFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        let outcome = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { memory in
            let outcome = receive(into: memory)
            if case .bytes(let count) = outcome { bytes = Array(memory[..<count]) }
            return outcome
        }
        switch outcome {
        case .bytes, .wouldBlock: return bytes
        case .closed: throw proxy.failure(.rejected, "it closed the connection")
        case .failed(let code): throw proxy.failure(.unreachable, Self.message(code))
        }
    }

    /// The socket's pending error, or 0.
    private var pendingError: CInt {
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code
    }
}
