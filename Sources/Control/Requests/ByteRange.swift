// SPDX-License-Identifier: Apache-2.0

/// The byte range in a request (RFC 9110, 14.1 and 14.2).
///
/// A single range is served, including one that counts from the end of the file. A request with several ranges, a
/// malformed header or another unit gets the whole file. A server may ignore any range (14.2), and a server that serves
/// thousands of ranges is easily overloaded (14.2, 17.15).
enum ByteRange: Equatable {
    /// The whole file.
    case whole
    /// The bytes in this range, which is not empty.
    case part(Range<Int64>)
    /// The range contains no byte of the file.
    case unsatisfiable

    /// Reads the header field `text` for a file of `size` bytes.
    init(_ text: String?, size: Int64) {
        self = .whole
        guard let text, let equals = text.firstIndex(of: "="),
            text[..<equals].lowercased() == "bytes"
        else { return }
        let ranges = text[text.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false)
        guard ranges.count == 1, let range = ranges.first else { return }
        let parts = range.split(separator: "-", omittingEmptySubsequences: false).map { Self.trimmed($0) }
        guard parts.count == 2 else { return }
        switch (Self.number(parts[0]), Self.number(parts[1])) {
        case (nil, let count?) where parts[0].isEmpty:
            self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .unsatisfiable
        case (let first?, nil) where parts[1].isEmpty:
            self = first < size ? .part(first..<size) : .unsatisfiable
        case (let first?, let last?) where first <= last:
            self = first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
        default: break
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    /// Reads digits; a number that is too large becomes `Int64.max`, which is larger than any file.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}
