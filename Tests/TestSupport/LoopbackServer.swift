// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A TCP server at a port of 127.0.0.1 that the kernel chooses. It is closed when this object is released. Any thread
/// can use it.
package final class LoopbackServer: Sendable {
    package let port: UInt16
    private let descriptor: CInt

    /// Creates a server. On the server's thread, it passes the connections to `serve`, one after the other. `serve`
    /// must close each connection.
    package init(_ serve: @escaping @Sendable (_ peer: CInt) -> Void) throws(LoopbackSocket.Failure) {
        let (descriptor, port) = try LoopbackSocket.bound(SOCK_STREAM)
        guard listen(descriptor, 16) == 0 else {
            defer { close(descriptor) }
            throw LoopbackSocket.Failure(code: errno)
        }
        (self.descriptor, self.port) = (descriptor, port)
        Thread.detachNewThread {
            while true {
                let peer = accept(descriptor, nil, nil)
                if peer >= 0 {
                    serve(peer)
                } else if errno == EINVAL {
                    break
                } else {
                    usleep(1000)
                }
            }
            // This thread closes the socket itself. Otherwise it could accept a connection of the next socket that gets
            // the same descriptor.
            close(descriptor)
        }
    }

    /// Ends the server's thread, because `accept` then fails with EINVAL.
    deinit { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Reads the head of an HTTP request from `peer`; returns nil if the client closes the connection before the end of
    /// the head.
    package static func requestHead(from peer: CInt) -> String? {
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !request.suffix(4).elementsEqual([13, 10, 13, 10]) {
            let count = recv(peer, &buffer, buffer.count, 0)
            if count <= 0 { return nil }
            request += buffer.prefix(count)
        }
        return String(decoding: request, as: UTF8.self)
    }
}
