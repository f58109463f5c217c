// SPDX-License-Identifier: Apache-2.0

/// Makes text safe for logs and terminals. Parts of the text come from clients, servers, files and requests. Such parts
/// must not be able to move the cursor, to begin a new line, to change the direction of writing, or to look like
/// another key of a log line.
enum PrintedText {
    /// Returns `text` as one line, with escapes in place of control characters, such as `\n` and `\u{1B}`.
    static func escaped(_ text: String) -> String { replacing(in: text, where: isControl, by: escape) }

    /// Returns `text` with escapes in place of control characters, except for tabs and line breaks.
    static func lines(_ text: String) -> String {
        replacing(in: text, where: { isControl($0) && $0 != "\n" && $0 != "\t" }, by: escape)
    }

    /// Returns `text` as the message of a log line: with escapes, and in double quotes if a word of it looks like a key
    /// with a value.
    static func message(_ text: String) -> String {
        let words = text.split(whereSeparator: \.isWhitespace)
        return text.hasPrefix("\"") || words.contains(where: looksLikeKey) ? quoted(text) : escaped(text)
    }

    /// Returns `text` as the value of a key in a log line: with escapes, and in double quotes if it is empty or looks
    /// like several keys.
    static func value(_ text: String) -> String {
        let words = text.split(omittingEmptySubsequences: false, whereSeparator: \.isWhitespace)
        let isAmbiguous = text.isEmpty || text.hasPrefix("\"") || words.dropFirst().contains(where: looksLikeKey)
        return isAmbiguous ? quoted(text) : escaped(text)
    }

    /// Returns the JSON `text` with escapes in place of the control characters from U+007F on (RFC 8259, 7). Those below
    /// U+0020 remain: an encoder has escaped them in strings, and the line feeds between values are needed.
    static func json(_ text: String) -> String {
        replacing(in: text, where: { isControl($0) && $0.value >= 0x7F }) { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    private static func quoted(_ text: String) -> String {
        let inner = replacing(in: text, where: { $0 == "\\" || $0 == "\"" || isControl($0) }) { scalar in
            isControl(scalar) ? escape(scalar) : "\\\(scalar)"
        }
        return "\"\(inner)\""
    }

    private static func replacing(
        in text: String, where isReplaced: (Unicode.Scalar) -> Bool, by replacement: (Unicode.Scalar) -> String
    ) -> String {
        guard text.unicodeScalars.contains(where: isReplaced) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isReplaced(scalar) { result += replacement(scalar) } else { result.unicodeScalars.append(scalar) }
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
    }

    private static func looksLikeKey(_ word: Substring) -> Bool {
        guard let equals = word.firstIndex(of: "="), equals > word.startIndex else { return false }
        return word[..<equals].utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 95
        }
    }

    /// Whether `scalar` is a control character, a line separator or a byte order mark, or changes the direction of
    /// writing (Unicode Standard Annex 9). All of these are in the basic multilingual plane.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
