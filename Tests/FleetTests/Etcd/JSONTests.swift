// SPDX-License-Identifier: Apache-2.0

import Fleet
import Foundation
import TestSupport
import Testing

@Suite("JSON and Base64 of the store")
struct JSONTests {
    private static func parse(_ text: String, limit: Int = 1 << 20) throws -> JSONValue {
        try JSONParser.value(of: Array(text.utf8), limit: limit)
    }

    /// A random value, not too deep.
    private static func value(_ random: inout SeededRandom, depth: Int = 0) -> JSONValue {
        let texts = ["", "a", "\"\\/\n\u{1}", "größer 🎬", "\u{7F}", "int64"]
        switch Int.random(in: 0..<(depth < 4 ? 7 : 5), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .number(String(Int64.random(in: .min ... .max, using: &random)))
        case 3: return .number(random.pick(["0", "-0", "1.5", "2e9", "-3.25E-7", "0.10"]))
        case 4: return .string(random.text(of: texts, upTo: 4))
        case 5: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(&random, depth: depth + 1) })
        default:
            let names = (0..<Int.random(in: 0...4, using: &random)).map { _ in random.text(of: texts, upTo: 3) }
            return .object(Dictionary(names.map { ($0, value(&random, depth: depth + 1)) }) { $1 })
        }
    }

    @Test func `A value is read back as it was written, and another reader reads the same`() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let value = Self.value(&random)
            #expect(try Self.parse(value.json) == value)
            #expect(try Self.parse(" \t\r\n" + value.json + " ") == value)
            _ = try JSONSerialization.jsonObject(with: Data(value.json.utf8), options: .fragmentsAllowed)
        }
    }

    @Test func `A text that is cut, changed or put together at random is read or refused, as another reader does`() {
        var random = SeededRandom()
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\\", "\\u00e4", "\\ud83c\\udfac", "\\ud83c", "1", "-", "01",
            ".5", "e3",
            "true", "nul", "null", " ", "\u{1}", "ä",
        ]
        for _ in 0..<20_000 {
            let text = random.text(of: pieces, upTo: 7)
            let isRead = (try? Self.parse(text)) != nil
            let data = Data(text.utf8)
            let reference = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
            // What this parser reads is JSON. Foundation also reads some texts that are not.
            if isRead { #expect(reference != nil, "\(text)") }
        }
        for _ in 0..<2000 {
            var bytes = Array(Self.value(&random).json.utf8)
            guard !bytes.isEmpty else { continue }
            bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0 ... .max, using: &random)
            _ = try? JSONParser.value(of: bytes.prefix(Int.random(in: 0...bytes.count, using: &random)), limit: 1 << 20)
        }
    }

    @Test func `What is too long or too deep is refused`() throws {
        #expect(throws: JSONParser.Failure.tooLong) { try Self.parse("[1,2]", limit: 4) }
        let depth = JSONParser.depthLimit
        let deep = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        _ = try Self.parse(deep)
        #expect(throws: JSONParser.Failure.tooDeep) { try Self.parse("[" + deep + "]") }
        #expect(throws: JSONParser.Failure.tooDeep) { try Self.parse(String(repeating: "[", count: 1 << 20)) }
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "01", "1.", "-", "+1", "\"\\ud800\"", "\"\\x\"", "\"\n\"", "nulL",
        "1 2", "'a'",
        "\"\\u00g0\"", "\"\\u00",
    ])
    func `A text that is no JSON is refused`(text: String) {
        #expect(throws: JSONParser.Failure.self) { try Self.parse(text) }
    }

    @Test func `Base64 is written and read as Foundation does, and nothing else is read`() {
        var random = SeededRandom()
        for length in 0..<200 {
            let bytes = random.bytes(length)
            let text = Base64Text.encode(bytes)
            #expect(text == Data(bytes).base64EncodedString())
            #expect(Base64Text.decode(text) == bytes)
        }
        for text in ["a", "ab", "abc", "ab=c", "====", "ab==cd==", "a===", "ab=\n", "äbcd", "ab-_", "ab1=x", "aaF="] {
            #expect(Base64Text.decode(text) == nil, "\(text)")
        }
    }
}
