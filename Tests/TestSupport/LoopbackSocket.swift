// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A UDP socket at a port of 127.0.0.1 that the kernel chooses. It is closed when this object is released. Any thread
/// can use it.
package final class LoopbackSocket: Sendable {
    /// The socket could not be opened; `code` is `errno`.
    package struct Failure: Error { package let code: CInt }

    package let descriptor: CInt
    package let port: UInt16

    /// Returns a UDP port that was free a moment ago, and is probably still free.
    package static func freePort() throws(Failure) -> UInt16 { try LoopbackSocket().port }

    package init() throws(Failure) { (descriptor, port) = try Self.bound(SOCK_DGRAM) }

    /// Opens a socket of this type at a port that the kernel chooses.
    static func bound(_ type: __socket_type) throws(Failure) -> (descriptor: CInt, port: UInt16) {
        let descriptor = socket(AF_INET, CInt(type.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else {
            let code = errno
            close(descriptor)
            throw Failure(code: code)
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }

    /// Returns the oldest waiting datagram; nil if none waits. Does not block.
    package func receive() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 2048)
        let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        return count < 0 ? nil : Array(bytes.prefix(count))
    }
}
