// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// Reads times in requests.
enum ClockTime {
    /// All times that can be written in a request, in milliseconds since 1970.
    static let all: Range<Int64> = -62_135_596_800_000..<253_402_300_800_000

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
