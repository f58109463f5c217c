// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A JSON text as a value: unlike Foundation's objects, it tells a truth value from a number.
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

    /// The bytes of `value` as JSON, with its keys in order.
    static func bytes(of value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "infinity", negativeInfinity: "-infinity", nan: "nan")
        return try encoder.encode(value)
    }

    /// `value` as a client reads it.
    init(_ value: some Encodable) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: try Self.bytes(of: value))
    }

    /// The member of an object; nil for anything else.
    subscript(_ key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The keys of an object; none for anything else.
    var keys: Set<String> {
        if case .object(let members) = self { Set(members.keys) } else { [] }
    }

    /// The items of a list; none for anything else.
    var items: [JSONValue] {
        if case .list(let items) = self { items } else { [] }
    }

    /// The text; nil for anything else.
    var string: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// Whether nothing in it is null: what is not known is left out.
    var hasNoNull: Bool {
        switch self {
        case .null: false
        case .truth, .number, .text: true
        case .list(let items): items.allSatisfy(\.hasNoNull)
        case .object(let members): members.values.allSatisfy(\.hasNoNull)
        }
    }
}
