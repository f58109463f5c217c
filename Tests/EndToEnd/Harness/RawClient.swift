// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport

/// A TCP connection to a port of 127.0.0.1 on which a test says whatever it wants. It is closed with the object.
final class RawClient {
    private let descriptor: CInt
    /// What was answered so far.
    private(set) var answers: [UInt8] = []
    /// Whether the other side closed the connection, as far as it was seen.
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

    /// Sends `bytes`, as far as the other side takes them, and returns whether it took all.
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

    /// Reads what there is.
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

    /// Whether `text` was answered, as it stands.
    func wasTold(_ text: String) -> Bool { String(decoding: answers, as: UTF8.self).contains(text) }
}
