// SPDX-License-Identifier: Apache-2.0

/// Makes a short text for the log from the standard error output of a program.
enum ErrorText {
    private static let longest = 300

    /// Returns the last line of `errors` that is not empty, without rclone's timestamp and without possible secrets in
    /// addresses. The line is cut off after 300 characters.
    static func of(_ errors: String) -> String {
        let lines = errors.split(whereSeparator: \.isNewline).map { $0.trimmingPrefix { $0.isWhitespace } }
        guard let last = lines.last(where: { !$0.isEmpty }) else { return "" }
        let words = withoutDate(last).split(separator: " ").map { scrubbed(String($0)) }
        return String(words.joined(separator: " ").filter { !$0.isNewline }.prefix(longest))
    }

    /// Drops rclone's timestamp, such as `2026/11/21 13:05:52 `, because the log has its own.
    private static func withoutDate(_ line: Substring) -> Substring {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, parts[0].utf8.count == 10, parts[1].utf8.count == 8,
            (parts[0] + parts[1]).utf8.allSatisfy({ (47...58).contains($0) })
        else { return line }
        return parts[2]
    }

    /// Removes possible secrets from the addresses in `word`. An address keeps its host and path; its user, query and
    /// fragment are removed, and so is the rest of the word after a query or fragment.
    private static func scrubbed(_ word: String) -> String {
        guard let scheme = word.firstRange(of: "://") else { return word }
        var rest = word[scheme.upperBound...]
        var tail = ""
        if let query = rest.firstIndex(where: { $0 == "?" || $0 == "#" }) {
            // Keep the quotation marks and the punctuation that end the word.
            tail = "?***" + String(rest[query...].reversed().prefix { "\"':,)".contains($0) }.reversed())
            rest = rest[..<query]
        }
        let authority = rest.prefix { $0 != "/" }
        if let at = authority.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        return "\(word[..<scheme.upperBound])\(scrubbed(String(rest)))\(tail)"
    }
}
