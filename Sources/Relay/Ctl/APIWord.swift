// SPDX-License-Identifier: Apache-2.0

/// A word in relay's response that names a case of `Word`. Another version of relay may send words that this one does not
/// know.
struct APIWord<Word: RawRepresentable<String>>: Decodable, CustomStringConvertible {
    /// The word as relay sent it.
    let description: String

    init(from decoder: any Decoder) throws {
        description = try decoder.singleValueContainer().decode(String.self)
    }

    /// The case that the word names; nil if this version of relay does not know the word.
    var known: Word? { Word(rawValue: description) }
}
