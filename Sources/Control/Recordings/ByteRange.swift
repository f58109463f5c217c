// SPDX-License-Identifier: Apache-2.0

/// Which bytes of a file a request asks for (RFC 9110, 14.1 and 14.2).
///
/// One range, also one that counts from the end, is answered as such. Several are answered with the whole file, as is a
/// header that is not well formed or is of another unit: a server may ignore any (14.2), and one that answers each of
/// thousands of ranges is easily kept busy (14.2, 17.15).
enum ByteRange: Equatable {
    /// The whole file.
    case whole
    /// These bytes, which are not empty.
    case part(Range<Int64>)
    /// None of the file's.
    case unsatisfiable

    /// Reads the field `text` about a file of `size` bytes.
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

    /// Digits, however many: a number that is too large is larger than any file.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}
