// SPDX-License-Identifier: Apache-2.0

internal import CLinux  // the parts of netdb.h and sys/socket.h that the Glibc module lacks
internal import Glibc
package import Media
package import NIOCore

/// Owns one stream socket, and closes it in `deinit`. The socket is a TCP connection, or the near end of a
/// ``SocketTunnel`` to such a connection. Any thread may call the methods.
package final class TCPSocket: Sendable {
    /// The result of sending or receiving.
    package enum Outcome: Equatable {
        case bytes(Int)
        case wouldBlock
        case closed
        case failed(CInt)
    }

    /// The socket's descriptor. It is open as long as this object is retained.
    package let descriptor: CInt
    private let tunnel: (any SocketTunnel)?

    init(owning descriptor: CInt, tunnel: (any SocketTunnel)? = nil) {
        self.descriptor = descriptor
        self.tunnel = tunnel
    }

    deinit { close(descriptor) }

    /// Makes the process ignore SIGPIPE. librtmp sends without `MSG_NOSIGNAL`, so this signal would end the process
    /// when a peer is gone.
    package static let ignoresBrokenPipes: Void = {
        signal(SIGPIPE, SIG_IGN)
    }()

    /// Shuts the socket down, which wakes every thread that is blocked on it.
    package func shutDown(_ how: CInt = CInt(SHUT_RDWR)) { shutdown(descriptor, how) }

    /// Makes the later close of the socket reset the connection, so that the server sees a broken connection and not
    /// the end of the program. The connection of a tunnel is reset at once.
    package func resetOnClose() {
        if let tunnel { tunnel.reset() } else { setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0)) }
    }

    /// Sends bytes from the beginning of `buffer`, as many as the socket accepts without blocking: of the first 64
    /// pieces, or of the first piece alone if a file contains it.
    package func send(_ buffer: OutboundBuffer) -> Outcome {
        if let (place, count) = buffer.placeOfHead { return send(count, from: place) }
        return buffer.withVectors { vectors in
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

    /// Sends `bytes` bytes of a file. `sendfile` has no non-blocking flag, so the socket's descriptor must be
    /// non-blocking.
    private func send(_ bytes: Int, from place: SharedFile.Place) -> Outcome {
        var offset = off_t(place.start)
        while true {
            let count = sendfile(descriptor, place.file.descriptor, &offset, bytes)
            if count >= 0 { return .bytes(count) }
            if errno != EINTR { return Self.outcome(errno) }
        }
    }

    /// Receives the available bytes.
    package func receive(into memory: UnsafeMutableRawBufferPointer) -> Outcome {
        while true {
            let count = recv(descriptor, memory.baseAddress, memory.count, CInt(MSG_DONTWAIT))
            if count > 0 { return .bytes(count) }
            if count == 0 { return .closed }
            if errno != EINTR { return Self.outcome(errno) }
        }
    }

    /// The number of bytes that were sent but not acknowledged by the peer, including those in the buffers of a tunnel.
    package var unacknowledgedBytes: Int {
        var count: CInt = 0
        let own = ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
        return own + (tunnel?.unacknowledgedBytes ?? 0)
    }

    /// Why the connection of a tunnel ended; nil without a tunnel, while the connection is open, if the peer closed it,
    /// and for an accepted connection. The socket itself only shows that the stream has ended.
    package var ending: String? { tunnel?.ending }

    /// The reason for a failure with the error number `code`.
    package func reason(_ code: CInt) -> String { ending ?? Self.message(code) }

    /// The system's text for an error number.
    package static func message(_ code: CInt) -> String { String(cString: strerror(code)) }

    private static func outcome(_ code: CInt) -> Outcome {
        code == EAGAIN || code == EWOULDBLOCK ? .wouldBlock : .failed(code)
    }

    func setOption<Value>(_ level: CInt, _ name: CInt, _ value: Value) {
        withUnsafeBytes(of: value) { bytes in
            _ = setsockopt(descriptor, level, name, bytes.baseAddress, socklen_t(bytes.count))
        }
    }
}

extension TCPSocket {
    /// The smoothed round-trip time of the connection, in microseconds (`tcpi_rtt`); nil if the kernel does not measure
    /// it, as for the near end of a tunnel.
    package var roundTripMicroseconds: UInt32? {
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &info, &length) == 0, info.tcpi_rtt > 0 else {
            return nil
        }
        return info.tcpi_rtt
    }

    /// Makes the descriptor non-blocking.
    package func setNonBlocking() { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }

    /// Makes the descriptor blocking, and limits each blocking call to `timeout`. librtmp uses the socket in this way
    /// until the stream is published.
    package func setBlocking(timeout: Duration) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        let microseconds = Int(timeout.inNanoseconds / 1000)
        let time = timeval(tv_sec: microseconds / 1_000_000, tv_usec: microseconds % 1_000_000)
        setOption(SOL_SOCKET, SO_RCVTIMEO, time)
        setOption(SOL_SOCKET, SO_SNDTIMEO, time)
    }
}

extension TCPSocket {
    /// Creates a socket with a duplicate of the descriptor of `channel`; it may outlive the channel. Must be called on
    /// the channel's event loop.
    package convenience init(copyOf channel: any Channel) throws(OutputFailure) {
        let copy = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        guard let copy, copy >= 0 else { throw Self.exhausted() }
        self.init(owning: copy)
        setStreamOptions()
    }

    static func exhausted() -> OutputFailure {
        OutputFailure(.unreachable, step: "accept", reason: "no descriptor: \(message(errno))")
    }
}
