// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A stream socket that listens at a path until it is released. The socket's file is not removed, as after a process
/// was killed.
package final class UnixListener: Sendable {
    /// The socket could not be opened; `code` is `errno`.
    package struct Failure: Error { package let code: CInt }

    private let descriptor: CInt

    /// Creates a socket that listens at `path`. There must be no file at `path`.
    package init(_ path: String) throws(Failure) {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isBound = withUnsafePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        guard descriptor >= 0, isBound, listen(descriptor, 5) == 0 else { throw Failure(code: errno) }
    }

    deinit { close(descriptor) }
}
