// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The socket of a service manager: a datagram socket in the file system or with an abstract name. It is closed when
/// this object is released. Any thread can use it.
package final class NotifySocket: Sendable {
    /// The socket could not be opened; `code` is `errno`.
    package struct Failure: Error { package let code: CInt }

    /// The value of `NOTIFY_SOCKET` for this socket.
    package let name: String
    private let descriptor: CInt

    /// Opens a socket with this name: a path, or `@` and an abstract name.
    package init(_ name: String) throws(Failure) {
        self.name = name
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if name.hasPrefix("@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(2 + bytes.count + (bytes[0] == 0 ? 0 : 1))
        let isBound = withUnsafePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        guard descriptor >= 0, isBound else { throw Failure(code: errno) }
    }

    deinit { close(descriptor) }

    /// Returns the messages since the last call, the oldest first. Does not block.
    package func receive() -> [String] {
        var messages: [String] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT)), count >= 0 {
            messages.append(String(decoding: bytes.prefix(count), as: UTF8.self))
        }
        return messages
    }
}
