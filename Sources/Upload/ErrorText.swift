// SPDX-License-Identifier: Apache-2.0

/// Makes a short text for the log from the standard error output of a program. The text is read scalar by scalar: an
/// accent after a punctuation mark makes another character of it, but not another part of an address.
enum ErrorText {
    private typealias Text = Substring.UnicodeScalarView

    private static let longest = 300
    private static let schemeEnd = "://".unicodeScalars

    /// Returns the last line of `errors` that is not empty, without rclone's timestamp and without possible secrets in
    /// addresses. The line is cut off after 300 Unicode scalars.
    static func of(_ errors: String) -> String {
        let lines = errors.unicodeScalars.split(whereSeparator: isNewline).map { line in
            line.drop { $0.properties.isWhitespace }
        }
        guard let last = lines.last(where: { !$0.isEmpty }) else { return "" }
        let words = withoutDate(last).split(separator: " ").map { String(scrubbed($0)) }
        return String(String.UnicodeScalarView(words.joined(separator: " ").unicodeScalars.prefix(longest)))
    }

    /// Whether `scalar` ends a line (Unicode Standard, 5.8).
    private static func isNewline(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Drops rclone's timestamp, such as `2026/11/21 13:05:52 `, because the log has its own.
    private static func withoutDate(_ line: Text) -> Text {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, parts[0].count == 10, parts[1].count == 8,
            (parts[0] + parts[1]).allSatisfy({ (47...58).contains($0.value) })
        else { return line }
        return parts[2]
    }

    /// Removes possible secrets from the addresses in `word`. An address keeps its host and path; its user, query and
    /// fragment are removed, and so is the rest of the word after a query or fragment.
    private static func scrubbed(_ word: Text) -> String.UnicodeScalarView {
        var (result, rest, tail) = (String.UnicodeScalarView(), word, String.UnicodeScalarView())
        if let scheme = rest.firstRange(of: schemeEnd),
            let query = rest[scheme.upperBound...].firstIndex(where: { $0 == "?" || $0 == "#" })
        {
            // Keep the quotation marks and the punctuation that end the word.
            let ending = rest[query...].reversed().prefix { "\"':,)".unicodeScalars.contains($0) }
            tail.append(contentsOf: "?***".unicodeScalars)
            tail.append(contentsOf: ending.reversed())
            rest = rest[..<query]
        }
        while let scheme = rest.firstRange(of: schemeEnd) {
            result.append(contentsOf: rest[..<scheme.upperBound])
            rest = rest[scheme.upperBound...]
            let authority = rest.prefix { $0 != "/" }
            if let at = authority.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        }
        result.append(contentsOf: rest)
        result.append(contentsOf: tail)
        return result
    }
}
