// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization

/// An HTTP server at a port of 127.0.0.1 that the kernel chose. It reads one complete request of each client, and
/// answers with the bytes that a test provides.
final class HookServer: Sendable {
    /// The request of a client.
    struct Request: Sendable {
        /// The request line and the headers.
        let head: String
        /// The bytes that follow the headers.
        let body: [UInt8]

        /// The body, parsed as JSON of strings; empty if it is anything else.
        var facts: [String: String] {
            (try? JSONDecoder().decode([String: String].self, from: Data(body))) ?? [:]
        }
    }

    let port: UInt16
    private let descriptor: CInt
    private let isOpen: Bool
    private let kept = Mutex<[Request]>([])
    private let left = Mutex(0)
    private let answer: @Sendable (Request) -> [UInt8]?

    /// Creates a server that answers with the result of `answer`; if that is nil, it waits until the client
    /// disconnects. If `open` is false, the port is occupied, but nothing listens there.
    init(open: Bool = true, _ answer: @escaping @Sendable (Request) -> [UInt8]?) throws {
        isOpen = open
        self.answer = answer
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        // Written as bytes, because the fields of `sockaddr_in` may belong to a C library's module that these tests do
        // not import.
        var address = [UInt8](repeating: 0, count: 16)
        withUnsafeBytes(of: sa_family_t(AF_INET)) { address.replaceSubrange(0..<2, with: $0) }
        (address[4], address[7]) = (127, 1)
        var length = socklen_t(address.count)
        let isBound = address.withUnsafeMutableBytes { [descriptor] bytes in
            guard let generic = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, generic, length) == 0 && (!open || listen(descriptor, 64) == 0)
                && getsockname(descriptor, generic, &length) == 0
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(address[2]) << 8 | UInt16(address[3])
        if open { acceptClients() }
    }

    /// The accepting thread closes the descriptor that it accepts from.
    deinit { _ = isOpen ? shutdown(descriptor, CInt(SHUT_RDWR)) : close(descriptor) }

    /// The requests so far, in the order of their arrival.
    var requests: [Request] { kept.withLock { $0 } }
    /// The number of clients that disconnected before they got an answer.
    var leavers: Int { left.withLock { $0 } }

    /// An answer with this status and without a body.
    static func status(_ status: Int, _ headers: String...) -> [UInt8] {
        let lines = ["HTTP/1.1 \(status) Word", "Content-Length: 0", "Connection: close"] + headers
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private func acceptClients() {
        Thread.detachNewThread { [weak self, descriptor] in
            while case let peer = accept(descriptor, nil, nil), peer >= 0 {
                Thread.detachNewThread { [weak self] in
                    self?.serve(peer)
                    close(peer)
                }
            }
            close(descriptor)
        }
    }

    private func serve(_ peer: CInt) {
        guard let request = Self.request(from: peer) else { return }
        kept.withLock { $0.append(request) }
        guard let bytes = answer(request) else {
            var byte: UInt8 = 0
            if recv(peer, &byte, 1, 0) <= 0 { left.withLock { $0 += 1 } }
            return
        }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { send(peer, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count <= 0 { return }
            sent += count
        }
    }

    /// The next request of `peer`; nil if `peer` disconnects before its request is complete. Blocks.
    private static func request(from peer: CInt) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(peer, &buffer, buffer.count, 0)
            if count <= 0 { return nil }
            bytes += buffer.prefix(count)
            guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else {
                continue
            }
            let head = String(decoding: bytes[..<end], as: UTF8.self)
            let length = head.firstMatch(of: /content-length: *([0-9]+)/.ignoresCase()).flatMap { Int($0.output.1) }
            let body = Array(bytes[(end + 4)...])
            if body.count >= length ?? 0 { return Request(head: head, body: body) }
        }
    }
}
