// SPDX-License-Identifier: Apache-2.0

/// Reads values from a tree of ``ConfigurationNode``. Each error is stored with its position, and reading continues, so
/// that all errors are reported at once.
package protocol NodeReader {
    var faults: [ConfigurationFailure.Fault] { get set }
}

extension NodeReader {
    package mutating func fault(_ mark: ConfigurationMark?, _ key: String, _ text: String) {
        faults.append(.init(mark: mark, key: key, text: text))
    }

    package mutating func mapping(
        _ node: ConfigurationNode, _ key: String, _ advice: String
    ) -> [ConfigurationNode.Entry]? {
        if case .mapping(let entries) = node.content { return entries }
        fault(node.mark, key, advice)
        return nil
    }

    package mutating func scalar(
        _ node: ConfigurationNode, _ key: String, orElse advice: String = "It is one value, not a list or a mapping."
    ) -> String? {
        guard case .scalar(let text, let isPlain) = node.content else {
            fault(node.mark, key, advice)
            return nil
        }
        guard !text.isEmpty, !isPlain || !["null", "~", "Null", "NULL"].contains(text) else {
            fault(node.mark, key, "It has no value.")
            return nil
        }
        return text
    }

    package mutating func time(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let text = scalar(node, key) else { return nil }
        guard case .scalar(_, isPlain: true) = node.content, let seconds = Double(text), seconds.isFinite else {
            return text
        }
        return text + "s"
    }

    package mutating func truth(_ node: ConfigurationNode, _ key: String) -> Bool? {
        if case .scalar(let text, isPlain: true) = node.content {
            if text == "true" { return true }
            if text == "false" { return false }
        }
        fault(node.mark, key, "It is true or false.")
        return nil
    }

    package mutating func unknown(_ entry: ConfigurationNode.Entry, in section: String, known: [String]) {
        // An unknown key may be a part of an address, and therefore a secret. It is repeated only if it is almost a
        // known key.
        guard let near = EditDistance.nearest(to: entry.key, among: known), entry.key.allSatisfy(\.isLetter) else {
            let advice = known.contains("address") ? " Does it lack address: in front of it, or quotation marks?" : ""
            return fault(entry.mark, section, "There is no such key.\(advice)")
        }
        let key = section.isEmpty ? entry.key : "\(section).\(entry.key)"
        fault(entry.mark, key, "There is no such key; is \(near) meant?")
    }

    /// Lists the words of which a value must be one.
    package static func either(_ words: [String]) -> String {
        words.count < 2
            ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    }
}
