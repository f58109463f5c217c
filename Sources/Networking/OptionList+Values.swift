// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Options that inputs and outputs share.
extension OptionList {
    /// Takes `name=`, the name of an input or output in logs and status, or the name in another `option`; nil if it is
    /// not given.
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

    /// Parses `text`, the value of `option`, as a duration within `range`. Errors mention that `word` is valid too.
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
