// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

/// A TCP connection to a port of 127.0.0.1, over which a test can send any bytes. It is closed when this object is
/// released.
final class RawClient {
    private let descriptor: CInt
    /// The bytes that were received so far.
    private(set) var answers: [UInt8] = []
    /// Whether the other side has closed the connection, as far as this was noticed.
    private(set) var isClosed = false

    init(port: Int) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        address.sin_port = UInt16(port).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard descriptor >= 0, status == 0 else { throw HarnessFailure("no connection to port \(port): \(errno)") }
    }

    deinit { close(descriptor) }

    /// Sends `bytes`. If the other side closes the connection, stops. Returns whether all bytes were sent.
    @discardableResult
    func say(_ bytes: [UInt8]) async throws -> Bool {
        var sent = 0
        try await eventually("what is sent is taken, or the connection is closed") {
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
                }
                if count < 0 { return errno != EAGAIN }
                sent += count
            }
            return true
        }
        return sent == bytes.count
    }

    /// Receives the bytes that are available.
    func listen() {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while !isClosed {
            let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
            if count > 0 { answers += bytes[..<count] }
            if count == 0 || count < 0 && errno != EAGAIN { isClosed = true }
            if count <= 0 { return }
        }
    }

    /// Waits until the other side has closed the connection.
    func beClosed() async throws {
        try await eventually("the connection's end") {
            listen()
            return isClosed
        }
    }

    /// Whether the received bytes contain `text`.
    func wasTold(_ text: String) -> Bool { String(decoding: answers, as: UTF8.self).contains(text) }
}
