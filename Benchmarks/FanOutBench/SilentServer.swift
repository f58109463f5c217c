// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A port on loopback at which the kernel accepts connections, but no program reads or answers.
final class SilentServer {
    private let descriptor: CInt
    let port: UInt16

    /// Opens a port for `backlog` connections, and for as many retries of them.
    init(backlog: Int) throws {
        descriptor = try LoopbackSocket.listening(port: 0, backlog: 2 * backlog + 16)
        port = LoopbackSocket.port(of: descriptor)
    }

    deinit { close(descriptor) }
}

/// Sockets for TCP on 127.0.0.1.
enum LoopbackSocket {
    /// A new listening socket; port 0 lets the kernel choose.
    static func listening(port: UInt16, backlog: Int) throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure("open a socket") }
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        guard withAddress(port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, CInt(backlog)) == 0 else {
            throw failure("listen on port \(port)")
        }
        return descriptor
    }

    /// A new connection to `port`, without the delay of Nagle's algorithm.
    static func connected(to port: UInt16) throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure("open a socket") }
        guard withAddress(port, { connect(descriptor, $0, $1) }) == 0 else { throw failure("connect to port \(port)") }
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
        return descriptor
    }

    /// The port to which `descriptor` is bound.
    static func port(of descriptor: CInt) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func failure(_ what: String) -> BenchError {
        BenchError("cannot \(what): \(String(cString: strerror(errno)))")
    }
}
