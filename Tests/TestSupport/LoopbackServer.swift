// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A TCP server at a port of 127.0.0.1 that the kernel chose. It is closed with the object. For any thread.
package final class LoopbackServer: Sendable {
    package let port: UInt16
    private let descriptor: CInt

    /// Creates a server. `serve` gets each connection on the server's thread, one after the other, and has to close it.
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

    /// Makes `accept` fail with EINVAL.
    deinit { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Reads the head of an HTTP request from `peer`; nil if the client closes the connection in the middle of it.
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
