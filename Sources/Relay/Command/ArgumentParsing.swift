// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import Media

/// Readers of flag values. Each throws one sentence that says what would be right.
enum ArgumentParsing {
    static func duration(_ text: String) throws(TextFailure) -> Duration {
        let duration = try anyDuration(text)
        guard duration > .zero else {
            throw TextFailure("A length of time must be more than nothing, such as 10s.")
        }
        return duration
    }

    /// A length of time that may be nothing.
    static func anyDuration(_ text: String) throws(TextFailure) -> Duration {
        try DurationText(parsing: text).duration
    }

    /// How long something may last before it is an alarm; nothing for never.
    static func alarm(_ text: String) throws(TextFailure) -> Duration { text == "off" ? .zero : try duration(text) }

    /// The time zone of this name, such as `Europe/Berlin`.
    static func timeZone(_ text: String) throws(TextFailure) -> TimeZone {
        guard let zone = TimeZone(identifier: text) else {
            throw TextFailure("\"\(text)\" is no time zone here; write for example Europe/Berlin or UTC.")
        }
        return zone
    }

    /// Does `body`. What is wrong with a text or an option becomes the parser's error, with its exit status.
    static func usage<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as TextFailure {
            throw ValidationError(failure.description)
        }
    }
}
