// SPDX-License-Identifier: Apache-2.0

package import Media
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// An HTTP client. It opens one connection for each request, has one deadline for name lookup, connection and TLS
/// together, and verifies certificates. It follows no redirect, so that a request never goes to another server.
///
/// Any task may call it. When the task is cancelled, a call returns at once, or, if it is still connecting, by its
/// deadline at the latest.
///
/// ```swift
/// let client = HTTPClient(try HTTPEndpoint("https://example.com/api"))
/// let answer = try await client.answer(to: HTTPClient.Request("GET", "/status"), within: .seconds(10))
/// if answer.head.isSuccess { show(answer.body) }
/// ```
package struct HTTPClient: Sendable {
    /// A request.
    package struct Request: Sendable {
        var method: String
        var path: String
        var headers: [(name: String, value: String)]
        var body: [UInt8]

        /// A request for `path`, which is appended to the endpoint's path; nil for the endpoint's path alone.
        package init(
            _ method: String, _ path: String? = nil, headers: [(name: String, value: String)] = [], body: [UInt8] = []
        ) {
            (self.method, self.path, self.headers, self.body) = (method, path ?? "", headers, body)
        }
    }

    /// Status line and headers of a response.
    package typealias Head = HTTPReplyHead

    static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    let endpoint: HTTPEndpoint
    let trust: TLSVerification
    let resolver: HostResolver
    /// How long a server may send nothing before or during a streamed response.
    private let longestIdle: Duration

    /// A client of the server at `endpoint`; `trust` verifies its certificate. A streamed response fails if nothing of
    /// it arrives for `longestIdle`.
    package init(
        _ endpoint: HTTPEndpoint, trust: TLSVerification = .system, resolver: HostResolver = .shared,
        longestIdle: Duration = .seconds(30)
    ) {
        (self.endpoint, self.trust, self.resolver, self.longestIdle) = (endpoint, trust, resolver, longestIdle)
    }

    /// Sends `request` and returns the response, which must arrive within `limit`; until then the server may be silent.
    /// If `readsBody` is true, the body is read, and a body of more than `mostBytes` is an error. Otherwise the body is
    /// not read.
    package func answer(
        to request: Request, within limit: Duration, mostBytes: Int = 1 << 20, readsBody: Bool = true
    ) async throws(OutputFailure) -> (head: Head, body: [UInt8]) {
        let late = OutputFailure(.unreachable, step: "answer", reason: "none came within \(DurationText(limit))")
        do {
            return try await withThrowingTaskGroup(of: (head: Head, body: [UInt8]).self) { group in
                group.addTask {
                    var body: [UInt8] = []
                    let head = try await exchange(request, connecting: limit, idle: nil) { _, piece in
                        body += piece.readableBytesView
                        guard body.count <= mostBytes else { throw Self.failure("the answer is too large") }
                        return readsBody
                    }
                    return (head, body)
                }
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw late
                }
                defer { group.cancelAll() }
                // The task that ends first gives the result: the request, or the time limit.
                guard let answer = try await group.next() else { throw late }
                return answer
            }
        } catch {
            throw Self.told(error)
        }
    }

    /// Sends `request`, and passes the response's bytes to `take` as they arrive, until `take` returns false or the
    /// response ends. The first call of `take` has no bytes; it comes when the head has arrived. Fails if nothing
    /// arrives for too long. Returns the head. Throws ``OutputFailure``, or the error of `take`.
    package func stream(
        _ request: Request, connecting limit: Duration, _ take: (Head, [UInt8]) async throws -> Bool
    ) async throws -> Head {
        var own: (any Error)?
        do {
            return try await exchange(request, connecting: limit, idle: longestIdle) { head, piece in
                do {
                    return try await take(head, Array(piece.readableBytesView))
                } catch {
                    own = error
                    throw error
                }
            }
        } catch {
            throw own ?? Self.told(error)
        }
    }
}

// MARK: One exchange

extension HTTPClient {
    typealias Exchange = NIOAsyncChannel<HTTPClientResponsePart, Never>

    /// Connects, sends `request`, and passes the pieces of the response's body to `take` until `take` returns false or
    /// the body ends. Then closes the connection. Closes it earlier if nothing arrives for the duration `idle`.
    private func exchange(
        _ request: Request, connecting limit: Duration, idle: Duration?,
        _ take: (Head, ByteBuffer) async throws -> Bool
    ) async throws -> Head {
        let exchange = try await connect(within: limit, idle: idle)
        return try await exchange.executeThenClose { inbound in
            // If the server reads nothing, the write never completes. Only cancellation then ends the write, by closing
            // the connection.
            try await withTaskCancellationHandler {
                try await send(request, to: exchange.channel)
            } onCancel: {
                exchange.channel.close(promise: nil)
            }
            var head: Head?
            for try await part in inbound {
                switch (part, head) {
                case (.head(let first), _):
                    let first = Head(status: Int(first.status.code)) { first.headers.first(name: $0) }
                    head = first
                    // `take` may refuse the body when it gets the head.
                    if try await !take(first, ByteBuffer()) { return first }
                case (.body(let piece), let head?): if try await !take(head, piece) { return head }
                case (.end, let head?): return head
                default: break
                }
            }
            try Task.checkCancellation()
            throw Self.failure("the server closed the connection \(head == nil ? "without" : "within") an answer")
        }
    }

    private func send(_ request: Request, to channel: any Channel) async throws {
        var headers = HTTPHeaders([
            ("Host", endpoint.host), ("Connection", "close"), ("User-Agent", "relay"), ("Accept", "*/*"),
        ])
        if let authorization = endpoint.authorization { headers.add(name: "Authorization", value: authorization) }
        for (name, value) in request.headers { headers.replaceOrAdd(name: name, value: value) }
        if !request.body.isEmpty || request.method != "GET" {
            headers.replaceOrAdd(name: "Content-Length", value: "\(request.body.count)")
        }
        // Only one slash may stand between the endpoint's path and the request's path.
        let base = endpoint.path.hasSuffix("/") ? String(endpoint.path.dropLast()) : endpoint.path
        let path = request.path.isEmpty ? endpoint.path : base + request.path
        let head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: path, headers: headers)
        try await channel.eventLoop.flatSubmit {
            let operations = channel.pipeline.syncOperations
            operations.write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
            if !request.body.isEmpty {
                let part = HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: request.body)))
                operations.write(NIOAny(part), promise: nil)
            }
            let sent = channel.eventLoop.makePromise(of: Void.self)
            operations.writeAndFlush(NIOAny(HTTPClientRequestPart.end(nil)), promise: sent)
            return sent.futureResult
        }.get()
    }
}

// MARK: Words

extension HTTPClient {
    static func failure(_ reason: String) -> OutputFailure { OutputFailure(.rejected, step: "answer", reason: reason) }

    /// Describes `error` for an operator.
    private static func told(_ error: any Error) -> OutputFailure {
        switch error {
        case let failure as OutputFailure: failure
        case is CancellationError: OutputFailure(.unreachable, step: "answer", reason: "it was ended")
        case ChannelError.connectTimeout:
            OutputFailure(.unreachable, step: "connect", reason: "no answer")
        case let error as IOError:
            OutputFailure(.unreachable, step: "connect", reason: TCPSocket.message(error.errnoCode))
        case is HTTPParserError: failure("it is no HTTP")
        case is ChannelError: failure("the connection was closed")
        default: failure("\(error)")
        }
    }
}
