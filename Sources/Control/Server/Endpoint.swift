// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore

/// One operation of the HTTP API.
struct Endpoint: Sendable {
    /// Creates the response to a request.
    typealias Action = @Sendable (ControlRequest) async throws -> Response

    let method: HTTPRequest.Method
    /// The path with its parameters in braces, without the base path.
    let path: String
    /// The role that a client needs; `none` means that every client is allowed.
    let role: ControlRole
    /// The maximum size of the body of a request, in bytes, if the client has the ``role``.
    let mostBytes: Int
    let action: Action

    init(
        _ method: HTTPRequest.Method, _ path: String, _ role: ControlRole, mostBytes: Int = JSON.mostBytes,
        _ action: @escaping Action
    ) {
        (self.method, self.path, self.role, self.mostBytes) = (method, path, role, mostBytes)
        self.action = action
    }

    /// Whether this endpoint's path matches `path`, which must not contain the base path.
    func isAt(_ path: String) -> Bool { RequestHead.matches(path, self.path) }

    /// Whether a request may change something.
    var changesSomething: Bool { method != .get && method != .head }
}

/// A request of a client that was admitted to an endpoint.
struct ControlRequest: Sendable {
    let request: Request
    let context: ControlContext
    let role: ControlRole
    /// Whether the client may still be served; false after its session has ended.
    var isStillAdmitted: @Sendable () -> Bool = { true }

    /// Returns the decoded path component for `name`.
    func parameter(_ name: String) throws(Refusal) -> String {
        guard let text = context.parameters.get(name).flatMap(RequestHead.pathComponent) else {
            throw Refusal(.notFound, "There is nothing at this path.")
        }
        return text
    }

    /// Returns the first value of `name` in the query; nil if the query does not contain it.
    func query(_ name: String) -> String? { request.uri.queryParameters.get(name) }

    /// Returns a number from the query, which must be in `range`; nil if the query does not contain it.
    func number(_ name: String, in range: ClosedRange<Double>) throws(Refusal) -> Double? {
        guard let text = query(name) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw Refusal(.malformed, "\(name) is a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// Returns an integer from the query, which must be in `range`; nil if the query does not contain it.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
        guard let text = query(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Refusal(.malformed, "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

/// Hummingbird's context of a request, with the connection on which it came.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The client's connection. It is closed if the client does not read the response.
    let channel: any Channel

    /// The client's address, without a port.
    var peer: String { channel.remoteAddress?.ipAddress ?? "" }

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
