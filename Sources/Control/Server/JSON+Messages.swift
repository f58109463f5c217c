// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore

/// The bodies of requests and responses.
extension JSON {
    /// Returns a response with `value` as its body.
    static func response(
        _ value: some Encodable, status: HTTPResponse.Status = .ok, type: String = "application/json",
        headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = type
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: encode(value))))
    }

    /// Returns a response without a body.
    static func empty(_ status: HTTPResponse.Status = .noContent) -> Response { Response(status: status) }

    /// Decodes the body of `request` as a `Value`. Throws if it is invalid or too large.
    static func body<Value: Decodable>(_ type: Value.Type, of request: ControlRequest) async throws -> Value {
        guard request.request.headers[.contentType].map(RequestHead.mediaType) == "application/json" else {
            throw Refusal(.malformed, "The body must be JSON, and Content-Type must say so: application/json.")
        }
        // ``ControlResponder`` has already read the whole body, so the body is available at once.
        let buffer = try await request.request.body.collect(upTo: mostBytes)
        return try decode(type, from: Data(buffer.readableBytesView))
    }

    /// Returns the body of `request` as text, whose media type must be one of `types`. Throws if the body is invalid or
    /// too large.
    static func text(of request: ControlRequest, types: [String], most: Int) async throws -> String {
        guard let field = request.request.headers[.contentType], types.contains(RequestHead.mediaType(field)) else {
            throw Refusal(.malformed, "Content-Type must be \(types.joined(separator: " or ")).")
        }
        let buffer = try await request.request.body.collect(upTo: most)
        guard let text = String(validating: buffer.readableBytesView, as: UTF8.self) else {
            throw Refusal(.malformed, "The body is no text in UTF-8.")
        }
        return text
    }

    /// Like ``body(_:of:)``, but returns nil if the request has no body.
    static func optionalBody<Value: Decodable>(_ type: Value.Type, of request: ControlRequest) async throws -> Value? {
        guard request.request.headers[.contentType] == nil else { return try await body(type, of: request) }
        let buffer = try await request.request.body.collect(upTo: mostBytes)
        guard buffer.readableBytes == 0 else {
            throw Refusal(.malformed, "The body must be JSON, and Content-Type must say so: application/json.")
        }
        return nil
    }
}
