// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Studio

@Suite("Parsing of YAML documents")
struct ConfigurationNodeTests {
    private func read(_ text: String, words: Set<String> = []) throws(ConfigurationFailure) -> ConfigurationNode {
        try ConfigurationNode(parsing: text, path: "show.yaml", words: words)
    }

    /// The faults for which `text` is refused; empty if it is accepted.
    private func faults(_ text: String, words: Set<String> = []) -> [String] {
        do throws(ConfigurationFailure) {
            _ = try read(text, words: words)
            return []
        } catch {
            return error.lines
        }
    }

    @Test("A YAML document is parsed to its values, each with its line and column", arguments: [false, true])
    func places(isJSON: Bool) throws {
        var random = SeededRandom("places(isJSON: \(isJSON))")
        for _ in 0..<300 {
            let tree = DocumentTree.random(depth: Int.random(in: 1...6, using: &random), isJSON: isJSON, &random)
            var writer = DocumentWriter(isJSON: isJSON, seed: random.next())
            if isJSON { writer.flow(tree) } else { writer.block(tree, indent: 0) }
            if Bool.random(using: &random) { writer.put("\n") }
            // A document written as JSON must also be JSON for other parsers.
            if isJSON { _ = try JSONSerialization.jsonObject(with: Data(writer.text.utf8)) }
            #expect(faults(writer.text) == [], "\(writer.text)")
            #expect(try read(writer.text).pieces == writer.pieces, "\(writer.text)")
        }
    }

    @Test("A character beyond U+FFFF is parsed when written as itself and as two escapes of JSON")
    func surrogates() throws {
        let wanted = ["1:1 map", "1:2 key \"name\"", "1:10 quoted \"\u{1F600}\""]
        #expect(try read("{\"name\": \"\u{1F600}\"}").pieces == wanted)
        #expect(try read("{\"name\": \"\\ud83d\\ude00\"}").pieces == wanted)
    }

    @Test("A YAML document nested deeper than 12 levels is refused with the position of the first such level")
    func depth() throws {
        var random = SeededRandom()
        for depth in 0...60 {
            let isList = (0..<depth).map { _ in Bool.random(using: &random) }
            let core = Bool.random(using: &random) ? "word" : "'*'"
            let (opened, closed) = (isList.map { $0 ? "[" : "{k: " }, isList.reversed().map { $0 ? "]" : "}" })
            let text = opened.joined() + core + closed.joined()
            let column = 1 + opened.prefix(13).joined().count
            let fault = "show.yaml:1:\(column): The file is nested too deep, or too large."
            #expect(faults(text) == (depth <= 12 ? [] : [fault]), "\(text)")
        }
        // These documents are nested so deep that a recursive parser would overflow the stack.
        for piece in ["[", "{k: ", "- ", "? ", "[{*a: "] {
            #expect(faults(String(repeating: piece, count: 100_000)).count == 1, "\(piece)")
        }
    }

    @Test("A YAML document of more than 100000 nodes is refused, and an alias counts as all nodes it stands for")
    func size() {
        let thousand = "- &a [" + Array(repeating: "0", count: 999).joined(separator: ",") + "]\n"
        let text = thousand + String(repeating: "- *a\n", count: 98) + String(repeating: "- 0\n", count: 999)
        #expect(faults(text) == [])
        #expect(faults(text + "- 0\n") == ["show.yaml:1099:3: The file is nested too deep, or too large."])
        var bomb = "- &a0 [0,0,0,0,0,0,0,0,0,0]\n"
        for level in 1...9 {
            let alias = "*a\(level - 1)"
            bomb += "- &a\(level) [" + Array(repeating: alias, count: 10).joined(separator: ",") + "]\n"
        }
        #expect(faults(bomb).first?.hasSuffix("The file is nested too deep, or too large.") == true)
        for empty in ["", "\n", "# nothing\n"] { #expect(faults(empty) == ["show.yaml: The file is empty."]) }
    }

    @Test("A configuration file of 1 MiB is read; a larger, missing or non-text one is refused")
    func file() throws {
        let directory = try TemporaryDirectory()
        let mebibyte = [UInt8](repeating: UInt8(ascii: "p"), count: 1 << 20)
        try directory.write(mebibyte, to: "full.yaml")
        #expect(try ConfigurationNode.text(at: directory.path("full.yaml")).utf8.count == 1 << 20)
        try directory.write(mebibyte + [UInt8(ascii: "p")], to: "large.yaml")
        try directory.write(Array("planted: ".utf8) + [0xC3, 0x28], to: "bytes.yaml")
        let reasons = [
            ("large.yaml", "The file is larger than 1 MiB."), ("bytes.yaml", "The file is no text in UTF-8."),
            ("gone.yaml", "The file cannot be read: "),
        ]
        for (name, reason) in reasons {
            let path = directory.path(name)
            let failure = #expect(throws: ConfigurationFailure.self) { try ConfigurationNode.text(at: path) }
            #expect(failure?.lines.count == 1, "\(name)")
            #expect(failure?.description.hasPrefix("\(path): \(reason)") == true, "\(name)")
            #expect(failure?.description.contains("planted") == false)
        }
    }
}
