// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Studio

@Suite("Errors in YAML documents")
struct ConfigurationFaultTests {
    /// Pieces of text that are inserted into documents to break them.
    private static let pieces = [
        "{", "}", "[", "]", ":", ": ", ",", "\"", "'", "&planted ", "*planted ", "!planted ", "!<planted> ", "|",
        ">", "\\x", "%planted\n", "@", "`", "\t", "\u{7}", "\n", "---\n", "? ", "- ", "\u{FEFF}",
        "\nplanted: 1\nplanted: 2\n",
    ]

    /// The failure with which `text` is refused; nil if it is accepted.
    private func failure(_ text: String, words: Set<String> = []) -> ConfigurationFailure? {
        do throws(ConfigurationFailure) {
            _ = try ConfigurationNode(parsing: text, path: "show.yaml", words: words)
            return nil
        } catch {
            return error
        }
    }

    @Test("A YAML document with an alias as a key is refused with the position of the asterisk")
    func aliases() {
        var random = SeededRandom()
        let forms = [
            "*a : 1", "? *a\n: 1", "? *a", "z: {*a : 1}", "z: {*a}", "z: {b: 1, *a : 2}", "z: [*a : 1]", "z: [*a:1]",
            "z:\n- *a : 1", "z:\n  - y:\n      *a : 1", "z: {y: [x, {*a: 1}]}",
        ]
        for form in forms {
            for _ in 0..<20 {
                var writer = DocumentWriter(isJSON: false, seed: random.next())
                for key in ["p: &a ", "q: ", "r: ", "s: &b "].prefix(Int.random(in: 1...4, using: &random)) {
                    writer.put(key)
                    writer.flow(.random(depth: 3, isJSON: false, &random))
                    writer.put("\n")
                }
                let asterisk = form.firstIndex(of: "*") ?? form.startIndex
                writer.put(String(form[..<asterisk]))
                let place = writer.place
                writer.put(String(form[asterisk...]))
                let lines = failure(writer.text)?.lines
                #expect(lines == ["show.yaml:\(place): A key is a word."], "\(writer.text)")
            }
        }
    }

    @Test("A duplicate key of a YAML document is refused with its position, and named only if it is a known key")
    func duplicates() {
        var random = SeededRandom()
        let pool = ["name", "file", "source", "scene", "planted", "rtmp", "key", "value"]
        var named = 0
        for _ in 0..<400 {
            let words = Set(pool.shuffled(using: &random).prefix(4))
            var keys = Array(pool.shuffled(using: &random).prefix(Int.random(in: 1...6, using: &random)))
            let first = Int.random(in: keys.indices, using: &random)
            let (twice, second) = (keys[first], Int.random(in: first + 1...keys.count, using: &random))
            keys.insert(twice, at: second)
            var (writer, places) = (DocumentWriter(isJSON: false, seed: random.next()), [String]())
            let isFlow = Bool.random(using: &random)
            writer.put(isFlow ? "top: [1, {" : "top:\n")
            for (index, key) in keys.enumerated() {
                writer.put(isFlow ? (index == 0 ? " " : ", ") : "  ")
                places.append(writer.place)
                writer.put(Bool.random(using: &random) ? "\"\(key)\": " : "\(key): ")
                writer.flow(.random(depth: 2, isJSON: false, mark: "planted", &random))
                if !isFlow { writer.put("\n") }
            }
            if isFlow { writer.put(" }]") }
            let name = words.contains(twice) ? "\(twice): " : ""
            named += name.isEmpty ? 0 : 1
            let wanted = [first, second].map { "show.yaml:\(places[$0]): \(name)A key is here twice." }
            let lines = failure(writer.text, words: words)?.lines ?? []
            #expect(lines.count == 1 && wanted.contains(lines.first ?? ""), "\(lines) of \(writer.text)")
        }
        #expect(named > 20 && named < 380)
    }

    /// Returns `text` with letters removed, pieces inserted, parts repeated, or the end missing.
    private func broken(_ text: String, _ random: inout SeededRandom) -> String {
        var letters = Array(text)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...letters.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: letters.removeSubrange(place..<min(letters.count, place + 2))
            case 1: letters.removeSubrange(place...)
            case 2:
                let part = Array(letters[place...].prefix(Int.random(in: 1...60, using: &random)))
                letters.insert(contentsOf: part, at: Int.random(in: 0...letters.count, using: &random))
            default: letters.insert(contentsOf: Self.pieces.randomElement(using: &random) ?? "", at: place)
            }
        }
        return String(letters)
    }

    @Test("A YAML document with broken syntax is refused with a position inside it, without repeating its text")
    func secrets() {
        var random = SeededRandom()
        var refused = 0
        for _ in 0..<1500 {
            let isJSON = Bool.random(using: &random)
            let tree = DocumentTree.random(depth: 4, isJSON: isJSON, mark: "planted", &random)
            var writer = DocumentWriter(isJSON: isJSON, seed: random.next())
            if isJSON { writer.flow(tree) } else { writer.block(tree, indent: 0) }
            let text = broken(writer.text, &random)
            guard let failure = failure(text, words: ["name", "file"]) else { continue }
            refused += 1
            #expect(failure.faults.count == 1 && !failure.description.contains("planted"), "\(failure) of \(text)")
            let lines = 1 + text.unicodeScalars.count { $0 == "\n" || $0 == "\r" }
            for mark in failure.faults.compactMap(\.mark) {
                // The library puts the end of a document at the beginning of the following line.
                let isEnd = mark == ConfigurationMark(line: lines + 1, column: 1)
                let isWithin =
                    (1...lines).contains(mark.line) && (1...text.unicodeScalars.count + 1).contains(mark.column)
                #expect(isEnd || isWithin, "\(mark), \(lines) lines: \(failure)")
            }
        }
        #expect(refused > 100)
    }
}
