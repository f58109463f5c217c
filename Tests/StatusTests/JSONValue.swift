// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A JSON text as a value. Unlike Foundation's objects, it distinguishes a Boolean from a number.
enum JSONValue: Sendable, Decodable, Equatable {
    case null
    case truth(Bool)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .truth(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Returns `value` as JSON with sorted keys.
    static func bytes(of value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "infinity", negativeInfinity: "-infinity", nan: "nan")
        return try encoder.encode(value)
    }

    /// Creates the value that a client gets when it decodes the JSON of `value`.
    init(_ value: some Encodable) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: try Self.bytes(of: value))
    }

    /// The member `key` of an object; nil if this value is not an object, or has no such member.
    subscript(_ key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The keys of an object; empty if this value is not an object.
    var keys: Set<String> {
        if case .object(let members) = self { Set(members.keys) } else { [] }
    }

    /// The items of a list; empty if this value is not a list.
    var items: [JSONValue] {
        if case .list(let items) = self { items } else { [] }
    }

    /// The text; nil if this value is not a text.
    var string: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// Whether the value contains no null at any level. Unknown properties must be omitted.
    var hasNoNull: Bool {
        switch self {
        case .null: false
        case .truth, .number, .text: true
        case .list(let items): items.allSatisfy(\.hasNoNull)
        case .object(let members): members.values.allSatisfy(\.hasNoNull)
        }
    }
}
