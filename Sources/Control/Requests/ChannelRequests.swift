// SPDX-License-Identifier: Apache-2.0

internal import Media

/// An output that is to be added to a channel.
struct NewOutput: Decodable { let address: String }

/// A request to change an output.
struct OutputChange: Decodable {
    let paused: Bool?
    let address: String?

    /// Whether the request changes nothing.
    var isEmpty: Bool { paused == nil && address == nil }
}

/// A marker that an operator sets.
struct NewMarker: Decodable {
    private static let longest = 500

    let text: String

    /// Returns the text. Throws if a marker cannot have it. The limit counts Unicode scalars, as the API's description
    /// does, because a character may consist of any number of scalars.
    func checked() throws(Refusal) -> String {
        guard !text.isEmpty, text.unicodeScalars.count <= Self.longest, !text.utf8.contains(0) else {
            throw Refusal(.unusable, "text has 1 to \(Self.longest) characters.")
        }
        return text
    }
}
