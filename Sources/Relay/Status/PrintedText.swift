// SPDX-License-Identifier: Apache-2.0

/// Text that is written to logs and terminals. Parts of it come from clients, servers, files and requests. These must not
/// be able to move a cursor, end a line, turn the direction of writing, or pass for another key of a log line.
enum PrintedText {
    /// Returns `text` with control characters as escapes, such as `\n` and `\u{1B}`: it is one line.
    static func escaped(_ text: String) -> String { replacing(in: text, where: isControl, by: escape) }

    /// Returns `text` with control characters as escapes, but for tabs and the ends of its lines.
    static func lines(_ text: String) -> String {
        replacing(in: text, where: { isControl($0) && $0 != "\n" && $0 != "\t" }, by: escape)
    }

    /// Returns the message of a log line: escaped, and in double quotes if a word of it looks like a key with its value.
    static func message(_ text: String) -> String {
        let words = text.split(whereSeparator: \.isWhitespace)
        return text.hasPrefix("\"") || words.contains(where: looksLikeKey) ? quoted(text) : escaped(text)
    }

    /// Returns the value of a key in a log line: escaped, and in double quotes if it could pass for no value or for
    /// several keys.
    static func value(_ text: String) -> String {
        let words = text.split(omittingEmptySubsequences: false, whereSeparator: \.isWhitespace)
        let isAmbiguous = text.isEmpty || text.hasPrefix("\"") || words.dropFirst().contains(where: looksLikeKey)
        return isAmbiguous ? quoted(text) : escaped(text)
    }

    /// Returns JSON `text` in which control characters outside of ASCII are escapes, too (RFC 8259, 7).
    static func json(_ text: String) -> String {
        replacing(in: text, where: { isControl($0) && !$0.isASCII }) { scalar in
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

    /// Whether `scalar` is a control character, a separator of lines, or changes the direction of writing (Unicode
    /// Standard Annex 9). All of them are in the basic multilingual plane.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
