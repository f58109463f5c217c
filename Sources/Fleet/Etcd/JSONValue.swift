// SPDX-License-Identifier: Apache-2.0

/// A JSON value (RFC 8259). Numbers keep their digits, because a 64-bit integer does not fit into a floating-point
/// number.
package enum JSONValue: Sendable, Equatable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, as it is written.
    case number(String)
    /// A text.
    case string(String)
    /// A list of values.
    case array([JSONValue])
    /// Values by their names. The last of two values with one name counts.
    case object([String: JSONValue])

    /// The value with this name, if this is an object that has one.
    package subscript(_ name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The text, if this is one.
    package var text: String? { if case .string(let text) = self { text } else { nil } }

    /// The elements, if this is a list.
    package var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The integer, if this is one. Protocol Buffers write 64-bit integers as texts, and read both.
    package var integer: Int64? {
        switch self {
        case .number(let digits), .string(let digits): Int64(digits)
        default: nil
        }
    }

    /// The value as JSON, without spaces, members in the order of their names.
    package var json: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.json }
                .joined(separator: ",") + "}"
        }
    }

    /// A JSON text with these characters.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
