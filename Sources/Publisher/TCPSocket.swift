// SPDX-License-Identifier: Apache-2.0

internal import CSRT  // brings netdb.h and its addrinfo, which the Glibc module lacks
internal import FanOut
internal import Glibc
internal import Media

/// The owner of one TCP socket, closed when nobody holds it any more. All calls may come from any thread.
final class TCPSocket: Sendable {
    /// What a send or a receive came to. Would-block is a result, not an error.
    enum Outcome: Equatable {
        case bytes(Int)
        case wouldBlock
        case closed
        case failed(CInt)
    }

    let descriptor: CInt

    init(owning descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// librtmp sends without `MSG_NOSIGNAL`, so a dead peer would end the process.
    static let ignoresBrokenPipes: Void = {
        signal(SIGPIPE, SIG_IGN)
    }()

    /// Wakes every thread that is blocked on the socket; nothing passes afterwards.
    func shutDown(_ how: CInt = CInt(SHUT_RDWR)) { shutdown(descriptor, how) }

    /// Makes the close a reset: the server sees a broken connection, not the end of the programme.
    func resetOnClose() { setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0)) }

    /// Sends what the socket takes at once.
    func send(_ buffer: OutboundBuffer) -> Outcome {
        buffer.withVectors { vectors in
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = vectors.count
            while true {
                let count = sendmsg(descriptor, &message, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
                if count >= 0 { return .bytes(count) }
                if errno != EINTR { return Self.outcome(errno) }
            }
        }
    }

    /// Receives what is there.
    func receive(into memory: UnsafeMutableRawBufferPointer) -> Outcome {
        while true {
            let count = recv(descriptor, memory.baseAddress, memory.count, CInt(MSG_DONTWAIT))
            if count > 0 { return .bytes(count) }
            if count == 0 { return .closed }
            if errno != EINTR { return Self.outcome(errno) }
        }
    }

    /// Bytes that the kernel holds and the peer has not acknowledged.
    var unacknowledgedBytes: Int {
        var count: CInt = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    /// The kernel's words for an error number.
    static func message(_ code: CInt) -> String { String(cString: strerror(code)) }

    private static func outcome(_ code: CInt) -> Outcome {
        code == EAGAIN || code == EWOULDBLOCK ? .wouldBlock : .failed(code)
    }

    private func setOption<Value>(_ level: CInt, _ name: CInt, _ value: Value) {
        withUnsafeBytes(of: value) { bytes in
            _ = setsockopt(descriptor, level, name, bytes.baseAddress, socklen_t(bytes.count))
        }
    }
}

extension TCPSocket {
    /// How the socket treats the time until the stream is published: the bound of each blocking call of librtmp.
    func setBlocking(timeoutSeconds: Int) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        setOption(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: timeoutSeconds, tv_usec: 0))
        setOption(SOL_SOCKET, SO_SNDTIMEO, timeval(tv_sec: timeoutSeconds, tv_usec: 0))
    }

    /// A socket on its way to `address`.
    fileprivate convenience init(connectingTo address: HostAddress) throws(OutputFailure) {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else {
            throw OutputFailure(.unreachable, step: "connect", reason: "socket: \(Self.message(errno))")
        }
        self.init(owning: descriptor)
        let tcp = CInt(IPPROTO_TCP)
        setOption(tcp, TCP_NODELAY, CInt(1))
        // A dead link is noticed after 15 s, also with data in flight; 6 s proved too short in the field (OBS 63c3299a9).
        setOption(tcp, TCP_USER_TIMEOUT, CInt(15_000))
        // The backlog belongs in the queue, where the policy can drop it, not in the kernel.
        setOption(tcp, TCP_NOTSENT_LOWAT, CInt(256 << 10))
        setOption(SOL_SOCKET, SO_KEEPALIVE, CInt(1))
        setOption(tcp, TCP_KEEPIDLE, CInt(10))
        setOption(tcp, TCP_KEEPINTVL, CInt(5))
        guard address.withSockaddr({ Glibc.connect(descriptor, $0, $1) }) == 0 || errno == EINPROGRESS else {
            throw OutputFailure(.unreachable, step: "connect", reason: Self.message(errno))
        }
    }

    /// Waits until the connection stands.
    fileprivate func awaitConnection(milliseconds: Int64) throws(OutputFailure) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let deadline = SystemClock().now + milliseconds * 1_000_000
        var ready: CInt = 0
        repeat {
            let left = max(0, (deadline - SystemClock().now) / 1_000_000)
            ready = poll(&entry, 1, CInt(left))
        } while ready < 0 && errno == EINTR
        guard ready > 0 else {
            throw OutputFailure(.unreachable, step: "connect", reason: "no answer within \(milliseconds) ms")
        }
        var code: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        guard code == 0 else { throw OutputFailure(.unreachable, step: "connect", reason: Self.message(code)) }
    }

    /// A connection to one of `addresses`, one after the other, all within `milliseconds`. Blocks.
    static func connect(
        to addresses: [HostAddress], name: String, milliseconds: Int64
    ) throws(OutputFailure) -> TCPSocket {
        let deadline = SystemClock().now + milliseconds * 1_000_000
        var failure = OutputFailure(.unreachable, step: "connect", reason: "the name has no address")
        var untried = addresses.count
        for address in addresses {
            let left = max(1, (deadline - SystemClock().now) / 1_000_000)
            do throws(OutputFailure) {
                let socket = try TCPSocket(connectingTo: address)
                try socket.awaitConnection(milliseconds: left / Int64(untried))
                return socket
            } catch {
                failure = error
            }
            untried -= 1
        }
        throw OutputFailure(failure.kind, step: failure.step, reason: "\(name): \(failure.reason)")
    }
}

/// The owner of what `getaddrinfo` returns.
final class AddressList {
    private let first: UnsafeMutablePointer<addrinfo>

    /// Resolves `host`; blocks as long as the system's resolver does.
    init(host: String?, port: UInt16, type: CInt, passive: Bool) throws(OutputFailure) {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = type
        hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)
        var result: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &result)
        guard status == 0, let result else {
            throw OutputFailure(
                .unreachable, step: "resolve", reason: "\(host ?? "*"): \(String(cString: gai_strerror(status)))")
        }
        first = result
    }

    deinit { freeaddrinfo(first) }

    /// The addresses in the system's order of preference; they point into this object.
    var entries: [addrinfo] {
        sequence(first: first.pointee) { $0.ai_next?.pointee }.map { $0 }
    }
}
