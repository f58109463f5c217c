// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The name of a clip or of an exported file, as a request gives it.
enum ClipName {
    private static let longest = 100

    /// Returns `text` if it can be the name of a clip and of a file; nil if it is nil. Throws if it cannot. The limit
    /// counts Unicode scalars, as the API's description does.
    static func checked(_ text: String?) throws(Refusal) -> String? {
        guard let text else { return nil }
        guard (1...longest).contains(text.unicodeScalars.count),
            !text.unicodeScalars.contains(where: { $0.value < 32 || $0 == "/" }), !text.hasPrefix(".")
        else {
            throw Refusal(.unusable, "name has 1 to \(longest) characters, no slash, and no point in front.")
        }
        return text
    }
}
