// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A server on the loopback interface that remembers the requests of its clients and gives each the answer of a test.
final class RecordingServer: Sendable {
    let port: UInt16
    private let descriptor: Int32
    private let requests = Mutex<[String]>([])

    /// Creates a server. `answer` gets the head of a client's request, which is empty unless `readsRequest` is set.
    init(readsRequest: Bool = true, _ answer: @escaping @Sendable (String) -> String) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        let descriptor = descriptor
        Thread.detachNewThread { [weak self] in
            while case let peer = accept(descriptor, nil, nil), peer >= 0 {
                let request = readsRequest ? Self.head(from: peer) : ""
                self?.requests.withLock { $0.append(request) }
                let bytes = Array(answer(request).utf8)
                _ = bytes.withUnsafeBytes { send(peer, $0.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
                close(peer)
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    /// The value of the header `name`, in lower case, of each request for `path`; `-` for a request without it.
    func values(of name: String, for path: String) -> [String] {
        requests.withLock { $0 }.filter { $0.split(separator: " ").dropFirst().first == path[...] }.map { request in
            let line = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
            return line.map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) } ?? "-"
        }
    }

    private static func head(from peer: Int32) -> String {
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !request.suffix(4).elementsEqual([13, 10, 13, 10]) {
            let count = recv(peer, &buffer, buffer.count, 0)
            if count <= 0 { break }
            request += buffer.prefix(count)
        }
        return String(decoding: request, as: UTF8.self)
    }
}
