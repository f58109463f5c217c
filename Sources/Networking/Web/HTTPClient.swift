// SPDX-License-Identifier: Apache-2.0

package import Media
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Asks HTTP servers: a connection for each request, one deadline for all that it takes to connect (name, connection, TLS),
/// certificates verified. It follows no redirect: what is sent goes where it was meant to go, or nowhere.
///
/// All calls may come from any task, and return as soon as that is cancelled; from within connecting, by its deadline.
package struct HTTPClient: Sendable {
    /// What is asked.
    package struct Request: Sendable {
        var method: String
        var path: String
        var headers: [(name: String, value: String)]
        var body: [UInt8]

        /// A request for `path`, which is appended to the endpoint's own; nil for that alone.
        package init(
            _ method: String, _ path: String? = nil, headers: [(name: String, value: String)] = [], body: [UInt8] = []
        ) {
            (self.method, self.path, self.headers, self.body) = (method, path ?? "", headers, body)
        }
    }

    /// The beginning of an answer.
    package struct Head: Sendable {
        /// Such as 200.
        package let status: Int
        /// What kind of body it is, in lower case and without parameters; nil if it is not said.
        package let contentType: String?
        /// Bytes of the body; nil if that is not said.
        package let length: Int64?

        /// Whether what was asked for was done.
        package var isSuccess: Bool { (200..<300).contains(status) }
    }

    static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    static let longestIdle = TimeAmount.seconds(30)

    let endpoint: HTTPEndpoint
    let trust: TLSVerification
    let resolver: HostResolver

    /// A client of the server at `endpoint`, whose certificate must be one of `trust`.
    package init(_ endpoint: HTTPEndpoint, trust: TLSVerification = .system, resolver: HostResolver = .shared) {
        (self.endpoint, self.trust, self.resolver) = (endpoint, trust, resolver)
    }

    /// Sends `request`, and returns the whole answer, which must come within `limit` and have `mostBytes` at most; without
    /// its body, however long that is, unless it `readsBody`.
    package func answer(
        to request: Request, within limit: Duration, mostBytes: Int = 1 << 20, readsBody: Bool = true
    ) async throws(OutputFailure) -> (head: Head, body: [UInt8]) {
        let late = OutputFailure(.unreachable, step: "answer", reason: "none came within \(DurationText(limit))")
        do {
            return try await withThrowingTaskGroup(of: (head: Head, body: [UInt8]).self) { group in
                group.addTask {
                    var body: [UInt8] = []
                    let head = try await exchange(request, connecting: limit) { _, piece in
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
                // The first to end: there are two.
                guard let answer = try await group.next() else { throw late }
                return answer
            }
        } catch {
            throw Self.told(error)
        }
    }

    /// Sends `request`, and hands the answer's bytes to `take` as they come, until it returns false or they end. Fails
    /// where nothing comes for 30 s, too. Returns the answer's beginning. Throws ``OutputFailure``, or what `take` throws.
    package func stream(
        _ request: Request, connecting limit: Duration, _ take: (Head, [UInt8]) async throws -> Bool
    ) async throws -> Head {
        var own: (any Error)?
        do {
            return try await exchange(request, connecting: limit) { head, piece in
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

    /// Connects, sends `request`, and hands the pieces of the answer's body to `take` until it returns false. The
    /// connection is closed afterwards.
    private func exchange(
        _ request: Request, connecting limit: Duration, _ take: (Head, ByteBuffer) async throws -> Bool
    ) async throws -> Head {
        let exchange = try await connect(within: limit)
        return try await exchange.executeThenClose { inbound in
            // A server that takes nothing in keeps what is sent from being over.
            try await withTaskCancellationHandler {
                try await send(request, to: exchange.channel)
            } onCancel: {
                exchange.channel.close(promise: nil)
            }
            var head: Head?
            for try await part in inbound {
                switch (part, head) {
                case (.head(let first), _):
                    let first = Head(first)
                    head = first
                    // Who wants no more than this says so now.
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
        // A base and the path appended to it are joined by one slash, not two.
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
    static func failure(_ reason: String) -> OutputFailure {
        OutputFailure(.rejected, step: "answer", reason: reason)
    }

    /// `error` in an operator's words.
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

extension HTTPClient.Head {
    fileprivate init(_ head: HTTPResponseHead) {
        status = Int(head.status.code)
        contentType = head.headers.first(name: "Content-Type").map { String($0.prefix { $0 != ";" }).lowercased() }
        length = head.headers.first(name: "Content-Length").flatMap { Int64($0) }
    }
}
