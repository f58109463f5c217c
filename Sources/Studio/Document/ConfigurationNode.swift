// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Media
internal import Yams

/// A node of a configuration file, with its position in the file.
package struct ConfigurationNode {
    /// A key of a mapping, and its value.
    package struct Entry {
        package let key: String
        package let mark: ConfigurationMark
        package let node: ConfigurationNode
    }

    /// The content of a node.
    package enum Content {
        /// A text. `isPlain` means that it has no quotation marks, so that it can also be a number or a truth value.
        case scalar(String, isPlain: Bool)
        case sequence([ConfigurationNode])
        case mapping([Entry])
    }

    package let content: Content
    package let mark: ConfigurationMark

    /// The maximum number of nodes. The file of a host with a hundred channels has fewer; a file with more contains
    /// aliases that expand again and again.
    private static let mostNodes = 100_000
    private static let deepest = 12

    /// Parses YAML. `words` are the known keys; error messages repeat no other key. Throws an error with its position.
    package init(parsing text: String, path: String, words: Set<String>) throws(ConfigurationFailure) {
        do {
            let text = Self.joiningSurrogates(of: text)
            try Self.refuseAliasesAsKeys(in: text)
            guard let root = try Yams.compose(yaml: text) else { throw Refusal(mark: nil, text: "The file is empty.") }
            var count = 0
            self = try Self(root, depth: 0, count: &count)
        } catch {
            throw ConfigurationFailure(path: path, faults: [Self.fault(error, words)])
        }
    }

    /// Refuses aliases as keys. The library finds duplicate keys by hashing each key. If a key is an alias of a list of
    /// aliases, the hash takes longer with each level of lists, and with forty levels it never ends. Therefore the text
    /// is first parsed without any alias: each asterisk is replaced by a letter that no text uses.
    private static func refuseAliasesAsKeys(in text: String) throws {
        guard text.contains("*"), let root = try Yams.compose(yaml: text.replacing("*", with: letter)) else { return }
        try refuseAliases(asKeysOf: root, depth: 0)
    }

    private static let letter = "\u{E000}"

    private static func refuseAliases(asKeysOf node: Node, depth: Int) throws(Refusal) {
        // Nodes that are nested too deeply are refused already in this check, because the library hashes keys at any
        // depth.
        guard depth <= deepest else { throw tooLarge(mark(node.mark)) }
        switch node {
        // In a list on one line, `*a:1` is an alias that is a key. With the letter in place of the asterisk, it is one
        // plain text.
        case .scalar(let word) where word.style == .plain && word.string.hasPrefix(letter) && word.string.contains(":"):
            throw Refusal(mark: mark(node.mark), text: "A key is a word.")
        case .sequence(let nodes): for node in nodes { try refuseAliases(asKeysOf: node, depth: depth + 1) }
        case .mapping(let mapping):
            for (key, value) in mapping {
                guard case .scalar(let word) = key, word.style != .plain || !word.string.hasPrefix(letter) else {
                    throw Refusal(mark: mark(key.mark), text: "A key is a word.")
                }
                try refuseAliases(asKeysOf: value, depth: depth + 1)
            }
        case .scalar, .alias: break
        }
    }

    /// In JSON, a character beyond U+FFFF can be written as two escapes (RFC 8259, 7), which the library refuses. The
    /// two escapes are replaced by the single escape of YAML. A text that does not begin like JSON is not changed.
    private static func joiningSurrogates(of text: String) -> String {
        guard text.first(where: { !$0.isWhitespace }).map("{[".contains) == true, text.contains("\\u") else {
            return text
        }
        var (result, rest) = ("", text[...])
        while let mark = rest.firstIndex(of: "\\") {
            result += rest[..<mark]
            let escape = rest[mark...]
            if let high = surrogate(in: escape, 0xD800...0xDBFF),
                let low = surrogate(in: escape.dropFirst(6), 0xDC00...0xDFFF)
            {
                let digits = String(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00), radix: 16, uppercase: true)
                result += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
                rest = escape.dropFirst(12)
            } else {
                result += escape.prefix(2)
                rest = escape.dropFirst(2)
            }
        }
        return result + rest
    }

    /// The code unit of the escape with which `text` begins, if that unit is in `range`.
    private static func surrogate(in text: Substring, _ range: ClosedRange<Int>) -> Int? {
        guard text.hasPrefix("\\u"), let unit = Int(text.dropFirst(2).prefix(4), radix: 16) else { return nil }
        return range.contains(unit) ? unit : nil
    }

    private struct Refusal: Error {
        let mark: ConfigurationMark?
        let text: String
    }

    private static func tooLarge(_ mark: ConfigurationMark) -> Refusal {
        Refusal(mark: mark, text: "The file is nested too deep, or too large.")
    }

    private init(_ node: Node, depth: Int, count: inout Int) throws(Refusal) {
        count += 1
        let mark = Self.mark(node.mark)
        self.mark = mark
        guard depth <= Self.deepest, count <= Self.mostNodes else { throw Self.tooLarge(mark) }
        switch node {
        case .scalar(let scalar):
            content = .scalar(scalar.string, isPlain: scalar.style == .plain || scalar.style == .any)
        case .sequence(let sequence):
            var nodes: [ConfigurationNode] = []
            for node in sequence { nodes.append(try Self(node, depth: depth + 1, count: &count)) }
            content = .sequence(nodes)
        case .mapping(let mapping):
            var entries: [Entry] = []
            for (key, value) in mapping {
                guard case .scalar(let name) = key else {
                    throw Refusal(mark: Self.mark(key.mark), text: "A key is a word.")
                }
                let node = try Self(value, depth: depth + 1, count: &count)
                entries.append(Entry(key: name.string, mark: Self.mark(key.mark), node: node))
            }
            content = .mapping(entries)
        case .alias:
            // The library has replaced each alias by the node to which it refers. An alias that is still here refers to
            // nothing.
            throw Refusal(mark: mark, text: "The alias refers to nothing.")
        }
    }

    private static func mark(_ mark: Mark?) -> ConfigurationMark {
        ConfigurationMark(line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    /// Converts the library's error, without the part of the file that it quotes, because that part can be a secret.
    private static func fault(_ error: any Error, _ words: Set<String>) -> ConfigurationFailure.Fault {
        if let refusal = error as? Refusal { return .init(mark: refusal.mark, key: "", text: refusal.text) }
        return switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            .init(mark: Self.mark(mark), key: "", text: "This is no YAML: \(problem).")
        case .duplicatedKeysInMapping(let keys, let context):
            // The message repeats only known keys: any other key can be a part of an address.
            .init(
                mark: Self.mark(context.mark), key: keys.first.flatMap { words.contains($0) ? $0 : nil } ?? "",
                text: "A key is here twice.")
        case .reader(let problem, _, _, _):
            .init(mark: nil, key: "", text: "This is no text in UTF-8: \(problem).")
        default: .init(mark: nil, key: "", text: "This is no YAML.")
        }
    }
}

// Reads the text of a file that contains a configuration, a run-down or a project.
extension ConfigurationNode {
    private static let mostBytes = 1 << 20

    /// Returns the text of the file at `path`, which is allowed to have at most 1 MiB. Blocks on the disk.
    package static func text(at path: String) throws(ConfigurationFailure) -> String {
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            data = try handle.read(upToCount: mostBytes + 1) ?? Data()
        } catch {
            throw failure(path, "The file cannot be read: \(reason(error)).")
        }
        guard data.count <= mostBytes else { throw failure(path, "The file is larger than 1 MiB.") }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw failure(path, "The file is no text in UTF-8.")
        }
        return text
    }

    private static func failure(_ path: String, _ text: String) -> ConfigurationFailure {
        ConfigurationFailure(path: path, faults: [.init(mark: nil, key: "", text: text)])
    }

    private static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        guard let underlying, underlying.domain == NSPOSIXErrorDomain else { return "\(error.localizedDescription)" }
        return String(cString: strerror(CInt(underlying.code)))
    }
}
