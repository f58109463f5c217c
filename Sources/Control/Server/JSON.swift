// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore
internal import Program

/// Reads and writes JSON with camelCase keys, sorted, and without nulls.
enum JSON {
    /// The maximum size of the body of a request, in bytes, unless an endpoint has its own limit.
    static let mostBytes = 64 << 10

    /// Encodes `value`. Numbers that JSON cannot express, such as infinity, become strings.
    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "infinity", negativeInfinity: "-infinity", nan: "nan")
        // Encoding throws only if a type's own `encode(to:)` throws, and no type here does that.
        return (try? encoder.encode(value)).map(Array.init) ?? Array("{}".utf8)
    }

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
        let kind = request.request.headers[.contentType]?.prefix { $0 != ";" }.lowercased()
        guard kind?.trimmingSuffix(" ") == "application/json" else {
            throw Refusal(.malformed, "The body must be JSON, and Content-Type must say so: application/json.")
        }
        // ``ControlResponder`` has already read the whole body, so the body is available at once.
        let buffer = try await request.request.body.collect(upTo: mostBytes)
        return try decode(type, from: Data(buffer.readableBytesView))
    }

    /// Decodes `data` as a `Value`. Throws a ``Refusal`` if it is invalid.
    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        do {
            if let closed = type as? any ClosedRequest.Type {
                try closed.check(try JSONDecoder().decode(KeyPaths.self, from: data))
            }
            return try JSONDecoder().decode(type, from: data)
        } catch let error as DecodingError {
            throw Refusal(.malformed, sentence(error))
        } catch let fault as SceneLayout.Fault {
            throw Refusal(.unusable, fault.description)
        } catch let fault as UnknownWord {
            throw Refusal(.unusable, fault.description)
        }
    }

    /// Returns the body of `request` as text, whose media type must be one of `types`. Throws if the body is invalid or
    /// too large.
    static func text(of request: ControlRequest, types: [String], most: Int) async throws -> String {
        let kind = request.request.headers[.contentType]?.prefix { $0 != ";" }.lowercased()
        guard let kind, types.contains(kind.trimmingSuffix(" ")) else {
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

    /// Describes what is wrong with a body, without repeating its values.
    private static func sentence(_ error: DecodingError) -> String {
        let path = { (path: [any CodingKey]) in path.map(\.stringValue).joined(separator: ".") }
        switch error {
        case .keyNotFound(let key, let context): return "The body lacks \(path(context.codingPath + [key]))."
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return context.codingPath.isEmpty
                ? "The body is not an object with the keys that belong here."
                : "In the body, \(path(context.codingPath)) is of the wrong type."
        case .dataCorrupted(let context):
            return context.codingPath.isEmpty
                ? "The body is no JSON." : "In the body, \(path(context.codingPath)) is wrong."
        @unknown default: return "The body cannot be read."
        }
    }
}

extension StringProtocol {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = String(self)
        while text.last == character { text.removeLast() }
        return text
    }
}
