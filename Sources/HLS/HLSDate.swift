// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Dates in a playlist: `2026-11-21T11:12:16.345Z` (ISO 8601, as RFC 8216, 4.3.2.6, requires).
enum HLSDate {
    /// Now, in microseconds since 1970.
    static var nowMicroseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The text for the date that is `milliseconds` after the beginning of 1970.
    static func text(milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)].map { padded($0, 2) }
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded(Int($0), 2) }
        let fraction = padded(Int(milliseconds % 1000), 3)
        return "\(date.joined(separator: "-"))T\(time.joined(separator: ":")).\(fraction)Z"
    }

    /// Parses a text that ``text(milliseconds:)`` made.
    static func milliseconds(_ text: String) -> Int64? {
        let numbers = text.split(whereSeparator: { "-T:.Z".contains($0) }).map { Int32($0) ?? -1 }
        guard text.utf8.count == 24, numbers.count == 7, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        return Int64(timegm(&parts)) * 1000 + Int64(numbers[6])
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
