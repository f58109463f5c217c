// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The options of an address or of an output, as pairs of a name and a value.
///
/// The code that reads an address takes the options that it knows by name, and then calls ``finish()``, which refuses
/// the options that are left. No error repeats an unknown name or value, because it may be part of a secret that was
/// not escaped.
package struct OptionList {
    private struct Pair {
        let name: String
        let value: String
        /// How an error names this option without repeating it, such as `Option number 2 behind #`.
        var subject = "An option"
    }

    /// The protocol's name in errors, such as `UDP`.
    private let kind: String
    private var pairs: [Pair]
    /// The names of the options that the code has asked for.
    package private(set) var known: [String] = []
    /// The sentence that follows an error about an unknown option.
    private var advice = ""

    /// Parses the `query` of an address of the protocol `kind`: percent-encoded `name=value` pairs separated by `&`.
    /// Names are converted to lower case; `aliases` maps other names of options to their usual names.
    package init(query: String?, of kind: String, aliases: [String: String] = [:]) {
        self.kind = kind
        pairs = (query ?? "").split(separator: "&").enumerated().map { index, pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = URLParts.decode(sides[0]).lowercased()
            let value = sides.count > 1 ? URLParts.decode(sides[1]) : ""
            return Pair(name: aliases[name] ?? name, value: value, subject: "Option number \(index + 1) of the address")
        }
    }

    /// Parses `text`, the part of an output after `#`: `name=value` pairs separated by commas. In a value, a comma is
    /// written `%2C`. `read` converts each value after `%2C` was replaced in it. Throws the errors of `read`, and an
    /// error for an option without a value.
    package init(behindMark text: Substring, of kind: String, read: (String) throws -> String) throws {
        self.kind = kind
        let advice = " Write a comma in a value as %2C."
        self.advice = advice
        pairs = try text.split(separator: ",").enumerated().map { index, pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let subject = "Option number \(index + 1) behind #"
            guard sides.count == 2, !sides[1].isEmpty else { throw AddressError("\(subject) has no value.\(advice)") }
            let value = sides[1].replacing("%2C", with: ",").replacing("%2c", with: ",")
            return Pair(name: String(sides[0]), value: try read(String(value)), subject: subject)
        }
    }

    /// The options `values` for an output of the protocol `kind`.
    package init(_ values: [String: String], of kind: String) {
        self.kind = kind
        pairs = values.map { Pair(name: $0.key, value: $0.value) }
    }

    /// Takes the value of the option `name`; nil if it is not given. Throws if it is given twice.
    package mutating func take(_ name: String) throws(AddressError) -> String? {
        known.append(name)
        let values = pairs.filter { $0.name == name }.map(\.value)
        pairs.removeAll { $0.name == name }
        guard values.count <= 1 else { throw AddressError("The \(kind) option \(name) is given twice.") }
        return values.first
    }

    /// Takes all values of the option `name`, which may be repeated, in their order.
    package mutating func takeAll(_ name: String) -> [String] {
        known.append(name)
        defer { pairs.removeAll { $0.name == name } }
        return pairs.filter { $0.name == name }.map(\.value)
    }

    /// Takes the value of the option `name`, a whole number within `range`.
    package mutating func takeNumber(_ name: String, in range: ClosedRange<Int64>) throws(AddressError) -> Int64? {
        guard let text = try take(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw error(in: name, "is a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Takes the value of the option `name`, one of the raw values of `Choice`.
    package mutating func takeChoice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, of _: Choice.Type = Choice.self
    ) throws(AddressError) -> Choice? {
        guard let text = try take(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw error(in: name, "is \(Self.list(Choice.allCases.map(\.rawValue), "or"))")
        }
        return choice
    }

    /// Takes the value of the option `name`, a whole number of seconds or milliseconds such as `4`, `4s` or `2500ms`.
    /// The limits in `range` are whole seconds.
    package mutating func takeDuration(_ name: String, in range: ClosedRange<Int64>) throws(AddressError) -> Duration? {
        guard let text = try take(name) else { return nil }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let factors: [Substring: Int64] = ["ms": 1, "s": 1000, "": 1000]
        let longest = range.upperBound * 1000
        guard let count = Int64(digits), let factor = factors[text[digits.endIndex...]], count <= longest,
            (range.lowerBound * 1000...longest).contains(count * factor)
        else {
            throw error(in: name, "is a length from \(range.lowerBound)s to \(range.upperBound)s, such as 4s or 2500ms")
        }
        return .milliseconds(count * factor)
    }

    /// Throws if an option is left that the code did not take.
    package func finish() throws(AddressError) {
        guard let first = pairs.first else { return }
        let known = known.sorted()
        let closest = known.min { ($0.distance(to: first.name), $0) < ($1.distance(to: first.name), $1) } ?? ""
        let help = known.count > 12 ? "did you mean “\(closest)”?" : "there are \(Self.list(known, "and"))."
        throw AddressError("\(first.subject) is unknown to \(kind); \(help)\(advice)")
    }

    /// An error about the option `name`. `rule` is the end of the error's sentence.
    package func error(in name: String, _ rule: String) -> AddressError {
        AddressError("The \(kind) option \(name) \(rule).")
    }

    private static func list(_ words: [String], _ conjunction: String) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return "\(words.dropLast().joined(separator: ", ")) \(conjunction) \(last)"
    }
}

extension String {
    /// The Levenshtein distance to the first 40 characters of `other`: the number of one-character edits.
    fileprivate func distance(to other: String) -> Int {
        let target = Array(other.prefix(40))
        var row = Array(0...target.count)
        for (index, character) in self.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in target.indices {
                let substitution = diagonal + (target[column] == character ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(substitution, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[target.count]
    }
}

/// Options that inputs and outputs share.
extension OptionList {
    /// Takes the name of an input or output, as logs and status show it, from the option `name=` or from another
    /// `option`; nil if the option is not given.
    package mutating func takeName(_ option: String = "name") throws(AddressError) -> String? {
        guard let name = try take(option) else { return nil }
        let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
        guard isPlain, name.count <= 40 else {
            throw AddressError("\(option)= takes at most 40 letters, digits, hyphens, dots and underscores.")
        }
        return name
    }

    /// Takes a duration within `range` from `option`; nil if it is not given.
    package mutating func takeTime(_ option: String, in range: ClosedRange<Duration>) throws(AddressError) -> Duration?
    {
        guard let text = try take(option) else { return nil }
        return try Self.time(text, of: option, in: range)
    }

    /// Parses `text`, the value of `option`, as a duration within `range`. If `word` is given, errors say that this
    /// word is valid, too.
    package static func time(
        _ text: String, of option: String, in range: ClosedRange<Duration>, or word: String? = nil
    ) throws(AddressError) -> Duration {
        guard let time = try? DurationText(parsing: text).duration, range.contains(time) else {
            let bounds = "\(DurationText(range.lowerBound)) to \(DurationText(range.upperBound))"
            throw AddressError("\(option)= is a time from \(bounds)\(word.map { ", or \($0)" } ?? "").")
        }
        return time
    }
}

/// An option that follows the `#` of an address, with its names on the command line and in a configuration file.
package struct AddressOption: Sendable, Equatable {
    /// The form of the option's value in a configuration file.
    package enum Form: Sendable, Equatable {
        case text
        /// A text, or a number of seconds.
        case time
        /// `true` or `false`; after the `#`, `yes` or `no`.
        case answer
        /// A list of addresses, each of which may have options. On the command line the option is repeated for each
        /// address.
        case addresses
    }

    /// The option's name in a configuration file, such as `queueBytes`.
    package let key: String
    /// The option's name after the `#`, such as `queue-bytes`.
    package let name: String
    /// The form of the value in a configuration file.
    package let form: Form
    /// The option's description in the help of a flag, such as `queue=2s (what may wait for a slow target)`.
    package let help: String

    /// Creates the option that has the name `key` in a configuration file, and the name `name` after the `#`.
    package init(_ key: String, _ name: String, _ form: Form = .text, help: String = "") {
        (self.key, self.name, self.form, self.help) = (key, name, form, help)
    }
}
