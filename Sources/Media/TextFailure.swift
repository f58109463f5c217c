// SPDX-License-Identifier: Apache-2.0

/// Why a text that a person wrote is not valid, in one sentence that says what would be right.
package struct TextFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sentence, with the options that it is about.
    package let sentence: OptionSentence
    /// The option that is to be changed, where the sentence does not begin with it.
    package let subject: OptionReference?

    /// A failure that `sentence` explains.
    package init(_ sentence: OptionSentence, about subject: OptionReference? = nil) {
        (self.sentence, self.subject) = (sentence, subject)
    }

    /// The sentence for the command line.
    package var description: String { sentence.description }

    /// The options that it is about, with the one in front that is to be changed.
    package var options: [OptionReference] { [subject].compactMap(\.self) + sentence.options }
}

/// A word that is not one of the known ones. The sentence lists the known ones.
package struct UnknownWord: Error, Equatable, CustomStringConvertible {
    /// The sentence.
    package let description: String

    /// Says that `word` is not a `kind`, and lists `known`.
    package init(_ word: String, of kind: String, known: [String]) {
        description = "There is no \(kind) \(word). There are \(known.joined(separator: ", "))."
    }
}

extension RawRepresentable<String> where Self: CaseIterable {
    /// Decodes one of the known words. Throws ``UnknownWord``, with `kind` in its sentence, for any other word.
    package init(decoding decoder: any Decoder, kind: String) throws {
        let word = try decoder.singleValueContainer().decode(String.self)
        guard let value = Self(rawValue: word) else {
            throw UnknownWord(word, of: kind, known: Self.allCases.map(\.rawValue))
        }
        self = value
    }
}
