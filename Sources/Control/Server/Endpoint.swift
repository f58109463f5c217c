// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore

/// One thing that can be asked for by HTTP.
struct Endpoint: Sendable {
    /// What a request is answered with.
    typealias Action = @Sendable (ControlRequest) async throws -> Response

    let method: HTTPRequest.Method
    /// The path with its parameters in braces, without the base path.
    let path: String
    /// What who asks must be allowed; `none` for everybody.
    let role: ControlRole
    /// The largest body that is read of who may ask.
    let mostBytes: Int
    let action: Action

    init(
        _ method: HTTPRequest.Method, _ path: String, _ role: ControlRole, mostBytes: Int = JSON.mostBytes,
        _ action: @escaping Action
    ) {
        (self.method, self.path, self.role, self.mostBytes) = (method, path, role, mostBytes)
        self.action = action
    }

    /// Whether it is what is at `path`.
    func isAt(_ path: String) -> Bool {
        let (words, asked) = (self.path.split(separator: "/"), path.split(separator: "/"))
        return words.count == asked.count && zip(words, asked).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }

    /// Whether a request may change something.
    var changesSomething: Bool { method != .get && method != .head }
}

/// A request that was let in.
struct ControlRequest: Sendable {
    let request: Request
    let context: ControlContext
    let role: ControlRole

    /// The decoded part of the path that stands for `name`.
    func parameter(_ name: String) throws(Refusal) -> String {
        guard let raw = context.parameters.get(name), let text = raw.removingPercentEncoding, !text.contains("\0")
        else { throw Refusal(.notFound, "There is nothing at this path.") }
        return text
    }

    /// The last value of a query's `name`; nil if the query does not have it.
    func query(_ name: String) -> String? { request.uri.queryParameters.get(name) }

    /// A number in the query, in `range`.
    func number(_ name: String, in range: ClosedRange<Double>) throws(Refusal) -> Double? {
        guard let text = query(name) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw Refusal(.malformed, "\(name) is a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A whole number in the query, in `range`.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
        guard let text = query(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Refusal(
                .malformed, "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

/// What Hummingbird keeps of a request, and its connection.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The connection, to be closed where who asked does not read.
    let channel: any Channel

    /// The address of who asks, without a port.
    var peer: String { channel.remoteAddress?.ipAddress ?? "" }

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
