// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Media
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
