// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

extension ControlRequest {
    /// Returns a time from the query, in milliseconds since 1970; nil if the query does not contain it.
    func moment(_ name: String) throws(Refusal) -> Int64? {
        guard let text = query(name) else { return nil }
        return try ClockTime.milliseconds(text, name)
    }

    /// Returns the range from the time `from` to the time `to` of the query, in milliseconds since 1970. If one of them
    /// is missing, the range has no limit at that end.
    func times() throws(Refusal) -> Range<Int64> {
        let lower = try moment("from") ?? ClockTime.all.lowerBound
        let upper = try moment("to") ?? ClockTime.all.upperBound
        return lower..<max(lower, upper)
    }
}

/// Reads times in requests.
enum ClockTime {
    /// All times that can be written in a request, in milliseconds since 1970.
    fileprivate static let all: Range<Int64> = -62_135_596_800_000..<253_402_300_800_000

    /// Reads a UTC time such as `2026-11-21T14:03:10.250Z`, with up to nine fractional digits, and returns milliseconds
    /// since 1970. `name` is the name of the time in the request.
    static func milliseconds(_ text: String, _ name: String) throws(Refusal) -> Int64 {
        let body = text.hasSuffix("Z") ? text.dropLast() : Substring()
        let parts = body.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? parts[1] : "0"
        guard let seconds = parts.first, (1...9).contains(fraction.utf8.count),
            fraction.utf8.allSatisfy({ (48...57).contains($0) }),
            let time = UTCTime(extended: "\(seconds).\((fraction + "00").prefix(3))Z")
        else { throw Refusal(.malformed, "\(name) is a time in UTC, such as 2026-11-21T14:03:10.250Z.") }
        return time.milliseconds
    }
}
