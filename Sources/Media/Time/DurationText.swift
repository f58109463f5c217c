// SPDX-License-Identifier: Apache-2.0

/// A length of time in the form in which people write it: `500ms`, `10s`, `30m`, `1h30m`, `2d`, or seconds without a
/// unit.
package struct DurationText: Sendable, Hashable, CustomStringConvertible {
    /// The length.
    package let duration: Duration

    /// The text form of `duration`.
    package init(_ duration: Duration) { self.duration = duration }

    private static let factors: [String: Int64] = [
        "d": 86_400_000_000_000, "h": 3_600_000_000_000, "m": 60_000_000_000, "min": 60_000_000_000,
        "s": 1_000_000_000, "ms": 1_000_000,
    ]

    /// Reads `text`: numbers with units, the largest unit first, and each unit once.
    package init(parsing text: String) throws(TextFailure) {
        guard let nanoseconds = Self.nanoseconds(text) else {
            throw TextFailure("\"\(text)\" is not a length of time; write for example 10s, 30m, 1h or 1h30m.")
        }
        duration = .nanoseconds(nanoseconds)
    }

    private static func nanoseconds(_ text: String) -> Int64? {
        var rest = Substring(text.lowercased().filter { $0 != " " })
        var total: Int64 = 0
        var lastFactor = Int64.max
        if let number = DecimalNumber(rest) { return number.times(1_000_000_000) }
        while !rest.isEmpty {
            let digits = rest.prefix { $0 == "." || $0.isWholeNumber }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard let number = DecimalNumber(digits), let factor = factors[String(unit)], factor < lastFactor,
                let part = number.times(factor)
            else { return nil }
            lastFactor = factor
            let (sum, overflow) = total.addingReportingOverflow(part)
            guard !overflow else { return nil }
            total = sum
        }
        return lastFactor == .max ? nil : total
    }

    /// The length in hours, minutes, seconds and milliseconds, without units whose number is 0, such as `1h30m`. It is
    /// rounded down; a length below a millisecond is `0s`.
    package var description: String {
        var rest = max(0, duration.inNanoseconds / 1_000_000)
        var result = ""
        for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] as [(String, Int64)] {
            if rest >= size { result += "\(rest / size)\(unit)" }
            rest %= size
        }
        return result.isEmpty ? "0s" : result
    }
}
