// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

@testable import Control

/// The connection of all requests. It is never released, because NIO refuses to release a channel that was never
/// closed.
private enum Connection {
    static let shared = NIOAsyncTestingChannel(loop: NIOAsyncTestingEventLoop())
}

extension ControlRequest {
    /// A request of an admitted client on `channel`, which by default is a channel without a connection.
    static func sample(
        _ method: HTTPRequest.Method = .get, _ path: String = "/file", _ headers: HTTPFields = [:],
        role: ControlRole = .view, on channel: any Channel = Connection.shared
    ) -> ControlRequest {
        ControlRequest(
            request: .sample(method, path, headers),
            context: ControlContext(
                source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test"))),
            role: role)
    }
}

extension Request {
    /// A request without a body, sent to `authority`.
    static func sample(
        _ method: HTTPRequest.Method = .get, _ path: String = "/file", _ headers: HTTPFields = [:],
        authority: String? = "localhost:8080"
    ) -> Request {
        Request(
            head: HTTPRequest(
                method: method, scheme: "http", authority: authority, path: path, headerFields: headers),
            body: RequestBody(buffer: ByteBuffer()))
    }
}

/// Collects the bytes that the body of a response writes.
final class CollectedBody: Sendable {
    private let pieces = Mutex<[[UInt8]]>([])
    private let ended = Mutex(false)

    var bytes: [UInt8] { pieces.withLock { Array($0.joined()) } }
    var sizes: [Int] { pieces.withLock { $0.map(\.count) } }
    var isFinished: Bool { ended.withLock { $0 } }

    struct Writer: ResponseBodyWriter {
        let body: CollectedBody

        mutating func write(_ buffer: ByteBuffer) async throws {
            let bytes = Array(buffer.readableBytesView)
            body.pieces.withLock { $0.append(bytes) }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws { body.ended.withLock { $0 = true } }
    }
}

/// Counts from 1 on. Any thread can use it.
final class Counter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
