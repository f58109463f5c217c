// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import Studio

/// The values of a document.
enum DocumentTree {
    case scalar(String, isPlain: Bool)
    case list([DocumentTree])
    case map([(key: String, value: DocumentTree)])

    /// Letters that have a meaning in YAML or JSON, or have several bytes.
    private static let letters = Array("aZ0 '\"\\:#*&{}[],!|>%@`?-/\u{E9}字\u{1F600}\n\t")
    private static let plain = ["word", "two words", "0x1F", "yes", "~", "2.5", "a-b:c", "/srv/a#b"]
    private static let numbers = ["0", "-12", "1.5e3", "true", "false", "null"]

    static func text(_ random: inout SeededRandom) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            text.append(letters.randomElement(using: &random) ?? "a")
        }
        return text
    }

    /// A random list or mapping, nested at most `depth` deep; with `isJSON`, its plain texts are valid in JSON. Each
    /// text begins with `mark`.
    static func random(depth: Int, isJSON: Bool, mark: String = "", _ random: inout SeededRandom) -> DocumentTree {
        func part(_ random: inout SeededRandom) -> DocumentTree {
            if depth > 1, Bool.random(using: &random) {
                return .random(depth: depth - 1, isJSON: isJSON, mark: mark, &random)
            }
            if Bool.random(using: &random) { return .scalar(mark + text(&random), isPlain: false) }
            return .scalar(mark + ((isJSON ? numbers : plain).randomElement(using: &random) ?? "0"), isPlain: true)
        }
        var (items, entries): ([DocumentTree], [(key: String, value: DocumentTree)]) = ([], [])
        let isList = Bool.random(using: &random)
        for index in 0..<Int.random(in: 0...4, using: &random) {
            let rest = Bool.random(using: &random) ? "" : " " + text(&random)
            items.append(part(&random))
            entries.append((key: "\(mark)k\(index)\(rest)", value: items[index]))
        }
        return isList ? .list(items) : .map(entries)
    }
}

/// Writes a document, and notes its expected nodes, each with its line and column.
struct DocumentWriter {
    private static let escapes: [Character: String] = ["\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\t": "\\t"]

    private(set) var text = ""
    private(set) var pieces: [String] = []
    private var line = 1
    private var column = 1
    private let isJSON: Bool
    private let lineBreak: String
    private var random: SeededRandom

    init(isJSON: Bool, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        lineBreak = Bool.random(using: &random) ? "\n" : "\r\n"
        (self.isJSON, self.random) = (isJSON, random)
    }

    mutating func put(_ piece: String) {
        text += piece
        for scalar in piece.unicodeScalars where scalar != "\r" {
            (line, column) = scalar == "\n" ? (line + 1, 1) : (line, column + 1)
        }
    }

    /// The line and the column at the end of the document so far.
    var place: String { "\(line):\(column)" }

    private mutating func note(_ what: String) { pieces.append("\(place) \(what)") }

    private mutating func put(_ word: String, isPlain: Bool) {
        if isPlain { return put(word) }
        let isSingle = !isJSON && !word.contains { "\n\t".contains($0) } && Bool.random(using: &random)
        if isSingle { return put("'" + word.replacing("'", with: "''") + "'") }
        put("\"" + word.map { Self.escapes[$0] ?? String($0) }.joined() + "\"")
    }

    private mutating func put(key: String) {
        note("key \(key.debugDescription)")
        put(key, isPlain: !isJSON && key.allSatisfy { $0.isLetter || $0.isNumber })
        put(":")
    }

    /// Writes space between two pieces in brackets; in JSON, that may include line feeds.
    private mutating func gap() {
        put(isJSON ? ["", " ", lineBreak, lineBreak + "\t "].randomElement(using: &random) ?? " " : " ")
    }

    /// Writes `tree` in brackets.
    mutating func flow(_ tree: DocumentTree) {
        switch tree {
        case .scalar(let word, let isPlain):
            note("\(isPlain ? "plain" : "quoted") \(word.debugDescription)")
            put(word, isPlain: isPlain)
        case .list(let items):
            note("list")
            put("[")
            for (index, item) in items.enumerated() {
                if index > 0 { put(",") }
                gap()
                flow(item)
            }
            gap()
            put("]")
        case .map(let entries):
            note("map")
            put("{")
            for (index, entry) in entries.enumerated() {
                if index > 0 { put(",") }
                gap()
                put(key: entry.key)
                gap()
                flow(entry.value)
            }
            gap()
            put("}")
        }
    }

    /// Ends the line, and begins an indented one, sometimes after a comment or an empty line.
    private mutating func next(_ indent: Int) {
        if Int.random(in: 0..<4, using: &random) == 0 { put(" # *a: [b") }
        put(lineBreak)
        if Int.random(in: 0..<4, using: &random) == 0 { put(lineBreak) }
        put(String(repeating: " ", count: indent))
    }

    /// Writes `tree` in lines, and some of its parts in brackets. The first line has already begun with this indent.
    mutating func block(_ tree: DocumentTree, indent: Int) {
        if Int.random(in: 0..<5, using: &random) == 0 { return flow(tree) }
        switch tree {
        case .list(let items) where !items.isEmpty:
            note("list")
            for (index, item) in items.enumerated() {
                if index > 0 { next(indent) }
                put("- ")
                block(item, indent: indent + 2)
            }
        case .map(let entries) where !entries.isEmpty:
            note("map")
            for (index, entry) in entries.enumerated() {
                if index > 0 { next(indent) }
                put(key: entry.key)
                if case .scalar = entry.value { put(" ") } else { next(indent + 2) }
                block(entry.value, indent: indent + 2)
            }
        default: flow(tree)
        }
    }
}

extension ConfigurationNode {
    /// The parsed nodes, in the notation of ``DocumentWriter``.
    var pieces: [String] {
        let place = "\(mark.line):\(mark.column)"
        switch content {
        case .scalar(let word, let isPlain):
            return ["\(place) \(isPlain ? "plain" : "quoted") \(word.debugDescription)"]
        case .sequence(let nodes): return ["\(place) list"] + nodes.flatMap(\.pieces)
        case .mapping(let entries):
            var pieces = ["\(place) map"]
            for entry in entries {
                pieces.append("\(entry.mark.line):\(entry.mark.column) key \(entry.key.debugDescription)")
                pieces += entry.node.pieces
            }
            return pieces
        }
    }
}
