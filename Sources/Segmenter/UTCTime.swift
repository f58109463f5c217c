// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A moment of the wall clock, in UTC. Only for names and tags: media never follows this clock.
public struct UTCTime: Sendable, Hashable, Codable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public var milliseconds: Int64

    /// A moment `milliseconds` after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Now, by the system's clock.
    public static var now: UTCTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UTCTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// ISO 8601 basic format with milliseconds, such as `20261121T140310.123Z`.
    public var basic: String { format(date: "", time: "") }
    /// ISO 8601 extended format with milliseconds, such as `2026-11-21T14:03:10.123Z`.
    public var extended: String { format(date: "-", time: ":") }

    private func format(date: String, time: String) -> String {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        var seconds = time_t(remainder < 0 ? quotient - 1 : quotient)
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil else { return "00000101T000000.000Z" }
        let days = [
            Self.pad(Int(parts.tm_year) + 1900, 4), Self.pad(Int(parts.tm_mon) + 1, 2), Self.pad(Int(parts.tm_mday), 2),
        ]
        let hours = [Self.pad(Int(parts.tm_hour), 2), Self.pad(Int(parts.tm_min), 2), Self.pad(Int(parts.tm_sec), 2)]
        let fraction = Self.pad(Int(remainder < 0 ? remainder + 1000 : remainder), 3)
        return "\(days.joined(separator: date))T\(hours.joined(separator: time)).\(fraction)Z"
    }

    static func pad(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
