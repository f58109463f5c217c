// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

extension LoopbackServer {
    /// An HTTP server that answers each request with `content`, whose length it does not tell. `headers` are lines of
    /// the answer.
    convenience init(answering content: [UInt8], headers: String = "") throws {
        let answer = Array("HTTP/1.0 200 OK\r\nConnection: close\r\n\(headers)\r\n".utf8) + content
        try self.init { peer in
            Thread.detachNewThread {
                var sent = LoopbackServer.requestHead(from: peer) == nil ? answer.count : 0
                while sent < answer.count {
                    let count = answer.withUnsafeBytes {
                        send(peer, $0.baseAddress?.advanced(by: sent), answer.count - sent, Int32(MSG_NOSIGNAL))
                    }
                    if count <= 0 { break }
                    sent += count
                }
                close(peer)
            }
        }
    }
}
