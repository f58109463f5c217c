// SPDX-License-Identifier: Apache-2.0

/// Why a text that a person wrote is not valid, in one sentence that says what would be valid.
package struct TextFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sentence, and the options in it.
    package let sentence: OptionSentence
    /// The option that must be changed; nil if it is the first option in the sentence.
    package let subject: OptionReference?

    /// A failure that `sentence` explains.
    package init(_ sentence: OptionSentence, about subject: OptionReference? = nil) {
        (self.sentence, self.subject) = (sentence, subject)
    }

    /// The sentence for the command line.
    package var description: String { sentence.description }

    /// All options that the failure is about: ``subject``, if there is one, and then the options in the sentence.
    package var options: [OptionReference] { [subject].compactMap(\.self) + sentence.options }
}

/// The error for a word that is not among the known words. Its sentence lists the known words.
package struct UnknownWord: Error, Equatable, CustomStringConvertible {
    /// The sentence.
    package let description: String

    /// Says that `word` is not a `kind`, and lists `known`.
    package init(_ word: String, of kind: String, known: [String]) {
        description = "There is no \(kind) \(word). There are \(known.joined(separator: ", "))."
    }
}

extension RawRepresentable<String> where Self: CaseIterable {
    /// Decodes one of the known words. For any other word it throws ``UnknownWord``, with `kind` in its sentence.
    package init(decoding decoder: any Decoder, kind: String) throws {
        let word = try decoder.singleValueContainer().decode(String.self)
        guard let value = Self(rawValue: word) else {
            throw UnknownWord(word, of: kind, known: Self.allCases.map(\.rawValue))
        }
        self = value
    }
}
