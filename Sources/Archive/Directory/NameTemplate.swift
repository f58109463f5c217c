// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Media

/// The names of a recording's files: a path below the record directory, without extension, with fields for the parts
/// that differ from file to file.
package struct NameTemplate: Sendable, Hashable {
    /// One piece of the path.
    enum Part: Hashable, Sendable {
        case literal(String)
        case channel
        /// The start in UTC, ISO 8601 basic format with milliseconds.
        case start
        case sequence
        /// A part of the start's local date or time, with a fixed number of digits.
        case calendar(CalendarField)
    }

    let parts: [Part]

    /// `{channel}_{start}_{sequence}`.
    package static let standard = NameTemplate(parts: [.channel, .literal("_"), .start, .literal("_"), .sequence])

    /// The form of ``UTCTime/basic``, with 0 for any digit.
    static let startPattern = "00000000T000000.000Z"
    private static let longest = 200
    /// The maximum number of digits of a number in a file's name.
    private static let mostDigits = 18
    /// The maximum number of directories between the record directory and a file.
    static let deepest = 4
    private static let fields =
        "{channel}, {start}, {sequence}, {date}, {time}, {year}, {month}, {day}, {hour}, {minute}, {second}"

    private init(parts: [Part]) { self.parts = parts }

    /// Reads a template: fields in braces, and the forms `%Y %m %d %H %M %S %F %y %j %%` of strftime.
    package init(parsing text: String) throws(TextFailure) {
        guard text.utf8.count <= Self.longest else {
            throw TextFailure("A name of \(text.utf8.count) bytes is too long; \(Self.longest) are the most.")
        }
        var rest = Substring(text)
        var parts: [Part] = []
        while let first = rest.first {
            switch first {
            case "{": parts.append(try Self.field(&rest))
            case "%": parts.append(try Self.conversion(&rest))
            case "}": throw TextFailure("There is a } without its { in the name \"\(text)\".")
            default:
                let literal = rest.prefix { !"{}%".contains($0) }
                rest = rest.dropFirst(literal.count)
                parts.append(.literal(String(literal)))
            }
        }
        self.init(parts: parts)
        try checkPath(text)
        try checkUniqueness(text)
        try checkChannel(text)
    }

    private static func field(_ rest: inout Substring) throws(TextFailure) -> Part {
        guard let end = rest.firstIndex(of: "}") else {
            throw TextFailure("The field \"\(rest.prefix(40))\" has no } at its end.")
        }
        let name = rest[rest.index(after: rest.startIndex)..<end]
        rest = rest[rest.index(after: end)...]
        switch name {
        case "channel": return .channel
        case "start": return .start
        case "sequence": return .sequence
        default:
            guard let field = CalendarField(rawValue: String(name)) else {
                throw TextFailure("There is no field {\(name.prefix(40))} for names; there are \(fields).")
            }
            return .calendar(field)
        }
    }

    private static func conversion(_ rest: inout Substring) throws(TextFailure) -> Part {
        let letter = rest.dropFirst().first
        rest = rest.dropFirst(2)
        if letter == "%" { return .literal("%") }
        guard let letter, let field = CalendarField.conversions[letter] else {
            throw TextFailure(
                "There is no %\(letter.map(String.init) ?? "") for names; there are %Y %m %d %H %M %S %F %y %j.")
        }
        return .calendar(field)
    }

    /// Throws if files named by this template, whose text is `text`, could be outside of the record directory, or if
    /// some file systems do not accept the names. Also throws if the names have too many directories or end with an
    /// extension.
    private func checkPath(_ text: String) throws(TextFailure) {
        let components = sample.split(separator: "/", omittingEmptySubsequences: false)
        guard components.allSatisfy({ !$0.isEmpty && $0.first != "." }) else {
            throw TextFailure(
                "The name \"\(text)\" must be a path below the record directory, no part of it empty or hidden.")
        }
        guard components.count <= Self.deepest + 1 else {
            throw TextFailure("The name \"\(text)\" has more than \(Self.deepest) directories.")
        }
        guard
            text.unicodeScalars.allSatisfy({
                $0.value >= 32 && $0.value != 127 && !"\\:*?\"<>|".unicodeScalars.contains($0)
            }),
            // A slash or dot with a combining mark after it is refused, too: in Swift both are one Character, but the
            // operating system still sees a slash or dot.
            !text.contains(where: { character in
                character.utf8.count > 1 && (character.utf8.first == 0x2F || character.utf8.first == 0x2E)
            })
        else { throw TextFailure("The name \"\(text)\" has a character that some file systems cannot store.") }
        guard ![".mp4", ".ts", ".part", ".broken"].contains(where: sample.hasSuffix) else {
            throw TextFailure("Leave the extension out of the name \"\(text)\": the format has its own.")
        }
    }

    private func checkUniqueness(_ text: String) throws(TextFailure) {
        guard hasSequence || parts.contains(.start) || isTimed else {
            throw TextFailure("The name \"\(text)\" is the same for many files; add {sequence}, {start} or {time}.")
        }
    }

    /// Requires something other than digits around the channel: otherwise `cam1000001` could be a file of the channel
    /// `cam` or of `cam1`.
    private func checkChannel(_ text: String) throws(TextFailure) {
        let parts = parts.filter { part in
            if case .literal(let text) = part { return !text.allSatisfy { $0.isASCII && $0.isNumber } }
            return true
        }
        for (first, second) in zip(parts, parts.dropFirst()) where first == .channel || second == .channel {
            if case .literal = first { continue }
            if case .literal = second { continue }
            throw TextFailure(
                "Put something that is no digit, such as _, between {channel} and its neighbour in the name \"\(text)\"."
            )
        }
    }

    /// The text from which ``init(parsing:)`` makes an equal template. The text is at most as long as the text from
    /// which this template was made. So its length is always accepted.
    var text: String {
        parts.map { part in
            switch part {
            case .literal(let text): text.replacing("%", with: "%%")
            case .channel: "{channel}"
            case .start: "{start}"
            case .sequence: "{sequence}"
            case .calendar(let field): field.letter.map { "%\($0)" } ?? "{\(field.rawValue)}"
            }
        }.joined()
    }

    /// A path with every field filled in.
    private var sample: String { sample(channel: "c", sequence: "000001") }

    func sample(channel: String, sequence: String) -> String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .channel: channel
            case .start: Self.startPattern
            case .sequence: sequence
            case .calendar(let field): field.pattern
            }
        }.joined()
    }

    /// Whether each file name contains the sequence number.
    package var hasSequence: Bool { parts.contains(.sequence) }

    private func has(_ field: CalendarField) -> Bool { parts.contains(.calendar(field)) }

    /// Whether each file name contains the time of day, to the second.
    private var isTimed: Bool { has(.time) || has(.hour) && has(.minute) && has(.second) }

    /// Whether each file name contains the date and time, so that all files of a channel have different names, even in
    /// different directories.
    package var isDated: Bool {
        parts.contains(.start) || isTimed && (has(.date) || has(.year) && has(.month) && has(.day))
    }

    /// Whether each file name contains the channel.
    package var hasChannel: Bool { parts.contains(.channel) }

    /// The number of directories between the record directory and a file.
    var depth: Int { sample.count { $0 == "/" } }

    /// Returns the path of file number `sequence` of `channel`, without extension. `offset` is the local time's offset
    /// from UTC at `start`, in seconds.
    func path(channel: String, start: UTCTime, sequence: Int, offset: Int) -> String {
        let local = UTCTime(milliseconds: start.milliseconds + Int64(offset) * 1000).calendar
        return parts.map { part in
            switch part {
            case .literal(let text): text
            case .channel: channel
            case .start: start.basic
            case .sequence: UTCTime.pad(sequence, 6)
            case .calendar(let field): field.text(local)
            }
        }.joined()
    }
}

// MARK: Reading names

extension NameTemplate {
    /// The values in a path that this template made.
    struct Reading: Equatable {
        var start = ""
        var sequence = 0
    }

    /// The texts of the fields that were read so far. A field that occurs several times has the same text each time.
    private struct FieldTexts {
        var start: Substring?
        var sequence: Substring?

        var reading: Reading { Reading(start: String(start ?? ""), sequence: sequence.flatMap { Int($0) } ?? 0) }
    }

    /// Reads `path`, without extension, of a file of `channel`; returns nil if this template does not make such a path.
    func read(_ path: Substring, channel: String) -> Reading? {
        Self.read(path, parts[...], channel, FieldTexts())
    }

    private static func read(
        _ path: Substring, _ parts: ArraySlice<Part>, _ channel: String, _ texts: FieldTexts
    ) -> Reading? {
        guard let part = parts.first else { return path.isEmpty ? texts.reading : nil }
        let rest = parts.dropFirst()
        switch part {
        case .literal(let text): return after(text, in: path).flatMap { read($0, rest, channel, texts) }
        case .channel: return after(channel, in: path).flatMap { read($0, rest, channel, texts) }
        case .start:
            return after(pattern: startPattern, in: path).flatMap { tail -> Reading? in
                var texts = texts
                let start = path[..<tail.startIndex]
                guard start == texts.start ?? start else { return nil }
                texts.start = start
                return read(tail, rest, channel, texts)
            }
        case .calendar(let field):
            return after(pattern: field.pattern, in: path).flatMap { read($0, rest, channel, texts) }
        case .sequence: return sequence(path, rest, channel, texts)
        }
    }

    /// Reads the sequence number, which has at least six digits. If more digits follow, the rest of the template shows
    /// where the number ends.
    private static func sequence(
        _ path: Substring, _ rest: ArraySlice<Part>, _ channel: String, _ texts: FieldTexts
    ) -> Reading? {
        if let known = texts.sequence {
            return after(String(known), in: path).flatMap { read($0, rest, channel, texts) }
        }
        let digits = path.prefix { $0.isASCII && $0.isNumber }
        for length in stride(from: min(digits.count, mostDigits), through: 6, by: -1) {
            var texts = texts
            texts.sequence = digits.prefix(length)
            if let found = read(path.dropFirst(length), rest, channel, texts) { return found }
        }
        return nil
    }

    private static func after(_ text: String, in path: Substring) -> Substring? {
        path.hasPrefix(text) ? path.dropFirst(text.count) : nil
    }

    /// Returns the rest of `path` after a piece that matches `pattern`, in which 0 stands for any digit.
    private static func after(pattern: String, in path: Substring) -> Substring? {
        let piece = path.prefix(pattern.count)
        guard piece.count == pattern.count else { return nil }
        let fits = zip(piece, pattern).allSatisfy { $1 == "0" ? $0.isASCII && $0.isNumber : $0 == $1 }
        return fits ? path.dropFirst(pattern.count) : nil
    }
}

/// A piece of a local date or time in a file's name.
enum CalendarField: String, Sendable {
    case date, time, year, month, day, hour, minute, second, shortYear, dayOfYear

    /// The fields whose text is a single number.
    static let single: [CalendarField] = [.year, .month, .day, .hour, .minute, .second, .shortYear, .dayOfYear]

    /// The calendar fields, by their letters in strftime.
    static let conversions: [Character: CalendarField] = [
        "F": .date, "Y": .year, "m": .month, "d": .day, "H": .hour, "M": .minute, "S": .second, "y": .shortYear,
        "j": .dayOfYear,
    ]

    /// The field's letter in strftime, if it has one.
    var letter: Character? { Self.conversions.first { $0.value == self }?.key }

    /// The pattern of the field's text, with 0 for any digit. The pattern contains no colon, because some file systems
    /// cannot store a colon in a name.
    var pattern: String {
        switch self {
        case .date: "0000-00-00"
        case .time: "00-00-00"
        case .year: "0000"
        case .dayOfYear: "000"
        case .month, .day, .hour, .minute, .second, .shortYear: "00"
        }
    }

    func text(_ time: CalendarTime) -> String {
        switch self {
        case .date: "\(CalendarField.year.text(time))-\(CalendarField.month.text(time))-\(CalendarField.day.text(time))"
        case .time:
            "\(CalendarField.hour.text(time))-\(CalendarField.minute.text(time))-\(CalendarField.second.text(time))"
        case .year: UTCTime.pad(time.year, 4)
        case .month: UTCTime.pad(time.month, 2)
        case .day: UTCTime.pad(time.day, 2)
        case .hour: UTCTime.pad(time.hour, 2)
        case .minute: UTCTime.pad(time.minute, 2)
        case .second: UTCTime.pad(time.second, 2)
        case .shortYear: UTCTime.pad(time.year % 100, 2)
        case .dayOfYear: UTCTime.pad(time.dayOfYear, 3)
        }
    }
}
