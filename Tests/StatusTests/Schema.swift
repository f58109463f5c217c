// SPDX-License-Identifier: Apache-2.0

import Foundation
import Page

/// A schema of the API's description, with support for those features that the description uses.
struct Schema {
    private let all: JSONValue
    private let schema: JSONValue

    private init(_ schema: JSONValue, of all: JSONValue) { (self.schema, self.all) = (schema, all) }

    /// The description that the server serves, decoded once.
    private static let document = Result<JSONValue, any Error> {
        var count = 0
        let assets = UnsafeBufferPointer(start: relay_assets(&count), count: count)
        guard let asset = assets.first(where: { String(cString: $0.path) == "v1/openapi.json" }) else { return .null }
        return try JSONDecoder().decode(JSONValue.self, from: Data(bytes: asset.bytes, count: asset.count))
    }

    /// The schema `name` of the description; nil if the description has no such schema.
    init?(_ name: String) throws {
        guard let all = try Self.document.get()["components"]?["schemas"], let schema = all[name] else { return nil }
        self.init(schema, of: all)
    }

    /// The properties that an object may have.
    var properties: Set<String> { resolved.schema["properties"]?.keys ?? [] }
    /// The values that a text may have.
    var words: [String] { resolved.schema["enum"]?.items.compactMap(\.string) ?? [] }

    private var resolved: Schema {
        guard let name = schema["$ref"]?.string?.split(separator: "/").last, let other = all[String(name)] else {
            return self
        }
        return Schema(other, of: all).resolved
    }

    /// Returns one sentence for each part of `value` that does not match the schema. Properties that the schema does
    /// not describe are not checked.
    func faults(in value: JSONValue, at path: String = "") -> [String] {
        let schema = resolved.schema
        switch (schema["type"]?.string, value) {
        case ("object", .object(let members)):
            var faults: [String] = []
            for key in schema["required"]?.items.compactMap(\.string) ?? [] where members[key] == nil {
                faults.append("\(path) lacks \(key)")
            }
            for (key, member) in members {
                guard let described = schema["properties"]?[key] ?? schema["additionalProperties"],
                    described != .truth(true)
                else { continue }
                faults += Schema(described, of: all).faults(in: member, at: "\(path).\(key)")
            }
            return faults
        case ("array", .list(let items)):
            guard let described = schema["items"] else { return [] }
            return items.flatMap { Schema(described, of: all).faults(in: $0, at: "\(path)[]") }
        case ("string", .text(let text)):
            return words.isEmpty || words.contains(text) ? [] : ["\(path) is \(text), not one of \(words)"]
        case ("number", .number), ("boolean", .truth), (nil, _): return []
        case ("integer", .number(let number)): return number == number.rounded() ? [] : ["\(path) is \(number)"]
        default: return ["\(path) is \(value)"]
        }
    }
}
