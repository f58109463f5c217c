// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Foundation
internal import Media
internal import Networking

/// Access to the HTTP API of a running relay, for commands.
struct ControlAPI: Sendable {
    /// Why a command failed. For example, relay refused a request and gave a reason, no server answered, or a file
    /// could not be written.
    struct Failure: Error, CustomStringConvertible {
        let status: ExitStatus
        /// One line per error, without secrets.
        let lines: [String]

        init(_ status: ExitStatus, _ lines: String...) { (self.status, self.lines) = (status, lines) }

        fileprivate init(saying lines: [String]) { (status, self.lines) = (.refused, lines) }

        var description: String { lines.joined(separator: "\n") }
    }

    /// The body of a response.
    struct Answer: Sendable {
        let bytes: [UInt8]
        /// The body as text for a terminal.
        var text: String { PrintedText.json(String(decoding: bytes, as: UTF8.self)) }

        /// Decodes the body as a `Value`.
        func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            do {
                return try JSONDecoder().decode(type, from: Data(bytes))
            } catch {
                throw Failure(.refused, "The answer is not what this version of relay understands.")
            }
        }
    }

    /// The usual time limit of a request by ``ask(_:_:_:within:)``. The slowest such requests start a recording, or test
    /// an output with its backup.
    static let patience = ChannelCheck.longest * 2 + Duration.seconds(10)
    private static let mostBytes = 32 << 20

    private let client: HTTPClient
    /// The server's name in messages.
    private let name: String
    private let token: String?

    /// Creates access to the server at `endpoint`; requests contain `token`.
    init(_ endpoint: HTTPEndpoint, trust: TLSVerification = .system, token: String? = nil) {
        client = HTTPClient(endpoint, trust: trust)
        (name, self.token) = (endpoint.name, token)
    }

    /// Sends a request with `method` for `path`, and returns the response. Throws ``Failure`` if relay refuses it, or
    /// if no server answers within `limit`.
    func ask(
        _ method: String, _ path: String, _ body: (some Encodable)? = String?.none,
        within limit: Duration = ControlAPI.patience
    ) async throws -> Answer {
        var bytes: [UInt8] = []
        if let body { bytes = Array(try JSONEncoder().encode(body)) }
        let answer: (head: HTTPClient.Head, body: [UInt8])
        do throws(OutputFailure) {
            answer = try await client.answer(
                to: request(method, path, bytes), within: limit, mostBytes: Self.mostBytes)
        } catch {
            throw told(error)
        }
        guard answer.head.isSuccess else { throw Self.refused(answer.head.status, answer.body) }
        return Answer(bytes: answer.body)
    }

    /// Sends a GET request for `path`. Passes the bytes of the response to `take` as they arrive, until `take` returns
    /// false. `length` is the length of the whole body in bytes; nil if it is unknown.
    func stream(
        _ path: String, headers: [(name: String, value: String)] = [],
        _ take: (_ bytes: [UInt8], _ length: Int64?) async throws -> Bool
    ) async throws {
        var refusal: [UInt8] = []
        let head: HTTPClient.Head
        do {
            head = try await client.stream(request("GET", path, [], headers), connecting: .seconds(10)) { head, bytes in
                guard head.isSuccess else {
                    refusal += bytes
                    return refusal.count < Self.mostBytes
                }
                return try await take(bytes, head.length)
            }
        } catch let failure as OutputFailure {
            throw told(failure)
        }
        guard head.isSuccess else { throw Self.refused(head.status, refusal) }
    }

    private func request(
        _ method: String, _ path: String, _ body: [UInt8], _ more: [(name: String, value: String)] = []
    ) -> HTTPClient.Request {
        var headers = more
        if !body.isEmpty { headers.append(("Content-Type", "application/json")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        return HTTPClient.Request(method, path, headers: headers, body: body)
    }

    private func told(_ failure: OutputFailure) -> Failure {
        Failure(
            .nothingDelivered, "No relay answers at \(name): \(failure.reason). --socket or --url says where it is.")
    }

    private static func refused(_ status: Int, _ body: [UInt8]) -> Failure {
        Failure(saying: APIRefusal.lines(status, body))
    }
}

// MARK: Names

extension ControlAPI {
    private struct Channels: Decodable {
        struct Channel: Decodable { let name: String }
        let channels: [Channel]
    }

    /// Returns the names of all channels.
    func channels() async throws -> [String] {
        try await ask("GET", "/v1/channels").decoded(Channels.self).channels.map(\.name)
    }

    /// Returns the path of the channel `name`, or of the only channel if `name` is nil.
    func path(ofChannel name: String?) async throws -> String {
        if let name { return "/v1/channels/\(Self.encoded(name))" }
        let names = try await channels()
        guard let only = names.first, names.count == 1 else {
            let list = names.joined(separator: ", ")
            throw Failure(
                .usage, names.isEmpty ? "There is no channel." : "There are several: choose with --channel: \(list).")
        }
        return "/v1/channels/\(Self.encoded(only))"
    }

    /// Returns the query of a request for the entries of a list between two times, at most `limit`; empty if none of
    /// these is given.
    static func query(from: String?, to: String?, limit: Int? = nil) -> String {
        let given = [("from", from), ("to", to), ("limit", limit.map { String($0) })]
        let bounds = given.compactMap { name, value in value.map { "\(name)=\(encoded($0))" } }
        return bounds.isEmpty ? "" : "?" + bounds.joined(separator: "&")
    }

    /// Encodes `name` so that it can be a component of a path or a value in a query.
    static func encoded(_ name: String) -> String {
        name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(.init(charactersIn: "-._~"))) ?? name
    }
}
