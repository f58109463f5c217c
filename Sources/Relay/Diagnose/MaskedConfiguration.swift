// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Studio

/// Makes a configuration file safe to show: without comments, possible secrets and unknown keys. References to secrets
/// are kept, because they reveal nothing.
struct MaskedConfiguration {
    /// The masked file in YAML.
    private(set) var text = ""
    /// Texts that are secret or may be, including the values of references. They must be removed from other files of
    /// the report.
    private(set) var secrets: Set<String> = []
    /// The directories of recordings that the file names.
    private(set) var directories: [String] = []

    private static let mask = "***"
    private static let keys = ConfigurationKey.words
    /// Keys whose values are entirely secret.
    private static let secretKeys: Set = ["token", "secret", "header"]
    /// The minimum length of a part of a masked text that is recorded as secret. Shorter parts are common words.
    private static let shortestPiece = 8

    private let references: SecretReferences

    /// Masks the configuration file that was parsed to the tree `root`.
    init(_ root: ConfigurationNode, secrets references: SecretReferences = .process) {
        self.references = references
        write(root, key: "", indent: "")
    }

    private mutating func write(_ node: ConfigurationNode, key: String, indent: String) {
        switch node.content {
        case .scalar(let value, _): text += "\(indent)\(quoted(masked(value, of: key)))\n"
        case .sequence(let nodes):
            for node in nodes {
                if case .scalar(let value, _) = node.content {
                    text += "\(indent)- \(quoted(masked(value, of: key)))\n"
                } else {
                    text += "\(indent)-\n"
                    write(node, key: key, indent: indent + "  ")
                }
            }
        case .mapping(let entries):
            for entry in entries {
                let isKnown = Self.keys.contains(entry.key)
                if !isKnown { note(entry.key) }
                let name = isKnown ? entry.key : Self.mask
                if case .scalar(let value, _) = entry.node.content {
                    if ["directory", "also"].contains(entry.key) { directories.append(value) }
                    text += "\(indent)\(name): \(quoted(masked(value, of: isKnown ? entry.key : nil)))\n"
                } else {
                    text += "\(indent)\(name):\n"
                    write(entry.node, key: isKnown ? entry.key : "secret", indent: indent + "  ")
                }
            }
        }
    }

    /// Returns `value` without possible secrets. `key` is nil if relay does not know the key.
    private mutating func masked(_ value: String, of key: String?) -> String {
        noteReferences(in: value)
        if value.wholeMatch(of: /\$\{[^}]*\}/) != nil { return value }
        // A target of uploads that contains a comma or an equals sign has options for rclone, which may include keys.
        // Such a target is masked completely.
        let isRemote = key == "upload" && value.contains { ",=".contains($0) }
        guard let key, !Self.secretKeys.contains(key), !isRemote else {
            note(value)
            return Self.mask
        }
        let bytes = Array(value.utf8)
        guard let range = ArgumentMask.secretRange(in: bytes), !range.isEmpty else { return value }
        note(String(decoding: bytes[range], as: UTF8.self))
        return String(decoding: bytes[..<range.lowerBound], as: UTF8.self) + Self.mask
            + String(decoding: bytes[range.upperBound...], as: UTF8.self)
    }

    /// Records the values of the references in `value` as secret, except values of fewer than four characters.
    private mutating func noteReferences(in value: String) {
        for match in value.matches(of: /\$\{[^}]*\}/) {
            if let secret = try? references.expand(String(match.output)), secret.count > 3 { secrets.insert(secret) }
        }
    }

    /// Records the parts of `hidden`, a text that was masked, as secret. Names of options, relay's own words and short
    /// texts are not recorded.
    private mutating func note(_ hidden: String) {
        let plain = hidden.replacing(/\$\{[^}]*\}/, with: " ")
        for piece in plain.split(whereSeparator: { "/?&#,;@ ".contains($0) }) {
            let sides = piece.split(separator: "=", maxSplits: 1)
            guard let value = sides.last.map(String.init), sides.count == 2 || !piece.hasSuffix("=") else { continue }
            for part in [value] + value.split(separator: ":").map(String.init)
            where part.count >= Self.shortestPiece && !Self.keys.contains(part) { secrets.insert(part) }
        }
    }

    private func quoted(_ value: String) -> String {
        let isPlain = value.allSatisfy { $0.isLetter || $0.isNumber || "/._-".contains($0) } && !value.isEmpty
        return isPlain ? value : "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
