// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Foundation
internal import Media

/// Functions that read the values of flags. If a value is invalid, a function throws one sentence that says which
/// values are valid.
enum ArgumentParsing {
    static func duration(_ text: String) throws(TextFailure) -> Duration {
        let duration = try anyDuration(text)
        guard duration > .zero else { throw TextFailure("A length of time must be more than nothing, such as 10s.") }
        return duration
    }

    /// Reads a duration, which may be zero.
    static func anyDuration(_ text: String) throws(TextFailure) -> Duration { try DurationText(parsing: text).duration }

    /// Reads the duration after which an alarm is raised. The word `off` is read as zero, which disables the alarm.
    static func alarm(_ text: String) throws(TextFailure) -> Duration { text == "off" ? .zero : try duration(text) }

    /// Reads the bitrate of AAC, in bits per second.
    static func audioBitrate(_ text: String) throws(TextFailure) -> Int {
        try EncodingText.bitrate(text, in: 32_000...512_000)
    }

    /// Throws if `quality`, the value of `--crf`, is out of range. `usual` is the usual value.
    static func check(quality: Double?, usual: Int) throws(TextFailure) {
        guard let quality, !(1...51).contains(quality) else { return }
        throw TextFailure("\(option: "--crf") must be from 1 to 51; \(usual) is usual.")
    }

    /// Reads the name of a time zone, such as `Europe/Berlin`.
    static func timeZone(_ text: String) throws(TextFailure) -> TimeZone {
        guard let zone = TimeZone(identifier: text) else {
            throw TextFailure("\"\(text)\" is no time zone here; write for example Europe/Berlin or UTC.")
        }
        return zone
    }

    /// Calls `body`. If it throws a ``TextFailure``, converts this to the argument parser's error, which has the
    /// parser's exit status.
    static func usage<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as TextFailure {
            throw ValidationError(failure.description)
        }
    }
}
