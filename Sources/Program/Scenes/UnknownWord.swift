// SPDX-License-Identifier: Apache-2.0

/// A word that is none of those that there are, in a sentence with all of them.
package struct UnknownWord: Error, Equatable, CustomStringConvertible {
    package let description: String

    /// `word` is no `kind`; there are `known`.
    package init(_ word: String, of kind: String, known: [String]) {
        description = "There is no \(kind) \(word). There are \(known.joined(separator: ", "))."
    }
}

extension RawRepresentable<String> where Self: CaseIterable {
    /// Decodes one of the words. Throws ``UnknownWord``, which calls them a `kind`, where it is none.
    init(decoding decoder: any Decoder, kind: String) throws {
        let word = try decoder.singleValueContainer().decode(String.self)
        guard let value = Self(rawValue: word) else {
            throw UnknownWord(word, of: kind, known: Self.allCases.map(\.rawValue))
        }
        self = value
    }
}

extension SceneLayout.Kind {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "layout") }
}

extension SceneLayout.Fit {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "fit") }
}

extension SceneLayout.Corner {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "corner") }
}

extension Easing {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "easing") }
}
