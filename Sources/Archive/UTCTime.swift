// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A moment of the wall clock, in UTC. It dates files and events, but media never follow this clock.
package struct UTCTime: Sendable, Hashable, Codable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    package var milliseconds: Int64

    /// A moment `milliseconds` after 1970-01-01T00:00:00Z.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The current time of the system's clock.
    package static var now: UTCTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UTCTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// ISO 8601 basic format with milliseconds, such as `20261121T140310.123Z`.
    package var basic: String { format(date: "", time: "") }
    /// ISO 8601 extended format with milliseconds, such as `2026-11-21T14:03:10.123Z`.
    package var extended: String { format(date: "-", time: ":") }

    private func format(date: String, time: String) -> String {
        let parts = calendar
        let days = [Self.pad(parts.year, 4), Self.pad(parts.month, 2), Self.pad(parts.day, 2)]
        let hours = [Self.pad(parts.hour, 2), Self.pad(parts.minute, 2), Self.pad(parts.second, 2)]
        // For times before 1970 the remainder is negative. It is corrected afterwards, because rounding down first and
        // multiplying would overflow for the earliest time.
        let rest = Int(milliseconds % 1000)
        let fraction = Self.pad(rest < 0 ? rest + 1000 : rest, 3)
        return "\(days.joined(separator: date))T\(hours.joined(separator: time)).\(fraction)Z"
    }

    /// Date and time of day.
    var calendar: CalendarTime {
        var seconds = time_t(milliseconds.flooredDivision(by: 1000))
        var parts = tm()
        // `gmtime_r` fails for years that do not fit in an integer: in this case the result is the year 0.
        guard gmtime_r(&seconds, &parts) != nil else { return CalendarTime() }
        return CalendarTime(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min), second: Int(parts.tm_sec),
            dayOfYear: Int(parts.tm_yday) + 1)
    }

    static func pad(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension UTCTime {
    /// Reads text in the form of ``basic``, such as `20261121T140310.123Z`.
    init?(basic text: String) {
        var characters = Array(text)
        guard characters.count == "20261121T140310.123Z".count else { return nil }
        for (index, separator) in [(13, ":"), (11, ":"), (6, "-"), (4, "-")] as [(Int, Character)] {
            characters.insert(separator, at: index)
        }
        self.init(extended: String(characters))
    }

    /// Reads text in the form of ``extended``, such as `2026-11-21T14:03:10.123Z`.
    package init?(extended text: String) {
        let bytes = Array(text.utf8)
        let pattern = Array("0000-00-00T00:00:00.000Z".utf8)
        guard bytes.count == pattern.count,
            zip(bytes, pattern).allSatisfy({ byte, model in model == 48 ? (48...57).contains(byte) : byte == model })
        else { return nil }
        let number = { (range: Range<Int>) in bytes[range].reduce(Int64(0)) { $0 * 10 + Int64($1 - 48) } }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard (1...12).contains(month), (1...Self.days(of: month, year)).contains(day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        // Counts days with years that begin in March, so that the leap day comes last.
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let leapDays =
            shifted.flooredDivision(by: 4) - shifted.flooredDivision(by: 100) + shifted.flooredDivision(by: 400)
        let days = shifted * 365 + leapDays + dayOfYear - 719_468
        self.init(milliseconds: ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + number(20..<23))
    }

    /// The number of days in `month`, from 1 to 12, of `year`.
    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// A date of the Gregorian calendar and a time of day.
struct CalendarTime: Equatable {
    var year = 0
    var month = 1
    var day = 1
    var hour = 0
    var minute = 0
    var second = 0
    /// The day of the year, counted from 1.
    var dayOfYear = 1
}

extension Int64 {
    /// Returns the quotient, rounded down even if it is negative.
    package func flooredDivision(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
