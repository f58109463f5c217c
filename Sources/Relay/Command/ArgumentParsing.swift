// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Channel
internal import Foundation
internal import Media
internal import Segmenter

/// Readers of flag values. Each throws one sentence that says what would be right.
enum ArgumentParsing {
    static func duration(_ text: String) throws -> Duration {
        let duration = try anyDuration(text)
        guard duration > .zero else {
            throw ValidationError("A length of time must be more than nothing, such as 10s.")
        }
        return duration
    }

    /// Reads a duration that may be zero.
    static func anyDuration(_ text: String) throws -> Duration {
        try message { () throws(TextFailure) in try DurationText(parsing: text).duration }
    }

    /// Reads how long a fault may last before an alarm; zero for no alarm.
    static func alarm(_ text: String) throws -> Duration { text == "off" ? .zero : try duration(text) }

    static func freeSpace(_ text: String) throws -> FreeSpaceGoal {
        try message { () throws(TextFailure) in try FreeSpaceGoal(parsing: text) }
    }

    static func byteSize(_ text: String) throws -> ByteSize {
        try message { () throws(TextFailure) in try ByteSize(parsing: text) }
    }

    static func segmentLength(_ text: String) throws -> SegmentLength {
        try message { () throws(TextFailure) in try SegmentLength(parsing: text) }
    }

    static func nameTemplate(_ text: String) throws -> NameTemplate {
        try message { () throws(TextFailure) in try NameTemplate(parsing: text) }
    }

    static func syncPolicy(_ text: String) throws -> SyncPolicy {
        try message { () throws(TextFailure) in try SyncPolicy(parsing: text) }
    }

    static func timeZone(_ text: String) throws -> TimeZone {
        guard let zone = TimeZone(identifier: text) else {
            throw ValidationError("\"\(text)\" is no time zone here; write for example Europe/Berlin or UTC.")
        }
        return zone
    }

    /// `4M`, `2500k` or `800000`, in bits a second.
    static func bitrate(_ text: String, in range: ClosedRange<Int>) throws -> Int {
        try message { () throws(TextFailure) in try EncodingText.bitrate(text, in: range) }
    }

    /// `1280x720`.
    static func size(_ text: String) throws -> FrameSize {
        try message { () throws(TextFailure) in try EncodingText.size(text) }
    }

    /// `30`, `25`, `30000/1001`, or the usual decimals `23.976`, `29.97` and `59.94`.
    static func frameRate(_ text: String) throws -> FrameRate {
        try message { () throws(TextFailure) in try EncodingText.frameRate(text) }
    }

    /// Returns the result of `body`; converts its failure to the parser's error, with its exit status.
    static func message<T>(_ body: () throws(TextFailure) -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw ValidationError(error.description)
        }
    }
}
