// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

/// A server on the loopback interface that remembers the requests of its clients and gives each the answer of a test.
final class RecordingServer: Sendable {
    private let server: LoopbackServer
    private let requests: Requests

    private final class Requests: Sendable {
        let heads = Mutex<[String]>([])
    }

    /// Creates a server. `answer` gets the head of a client's request, which is empty unless `readsRequest` is set.
    init(readsRequest: Bool = true, _ answer: @escaping @Sendable (String) -> String) throws {
        let requests = Requests()
        self.requests = requests
        server = try LoopbackServer { peer in
            let request = readsRequest ? LoopbackServer.requestHead(from: peer) ?? "" : ""
            requests.heads.withLock { $0.append(request) }
            let bytes = Array(answer(request).utf8)
            _ = bytes.withUnsafeBytes { send(peer, $0.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
            close(peer)
        }
    }

    /// The server's port at 127.0.0.1.
    var port: UInt16 { server.port }

    /// The value of the header `name`, in lower case, of each request for `path`; `-` for a request without it.
    func values(of name: String, for path: String) -> [String] {
        let all = requests.heads.withLock { $0 }
        return all.filter { $0.split(separator: " ").dropFirst().first == path[...] }.map { request in
            let line = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
            return line.map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) } ?? "-"
        }
    }
}
