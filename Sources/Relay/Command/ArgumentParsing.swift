// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
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

    /// A length of time that may be nothing.
    static func anyDuration(_ text: String) throws -> Duration {
        try message { () throws(TextFailure) in try DurationText(parsing: text).duration }
    }

    /// How long something may last before it is an alarm; nothing for never.
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
        let factors: [Character: Int] = ["k": 1000, "m": 1_000_000]
        let factor = text.lowercased().last.flatMap { factors[$0] }
        let digits = factor == nil ? Substring(text) : text.dropLast()
        guard let number = Double(digits), number.isFinite, !digits.contains(where: \.isLetter) else {
            throw ValidationError("Write bits a second as 4M, 2500k or 800000.")
        }
        let bits = number * Double(factor ?? 1)
        guard bits >= Double(range.lowerBound), bits <= Double(range.upperBound) else {
            throw ValidationError("It must be from \(range.lowerBound / 1000)k to \(range.upperBound / 1000)k.")
        }
        return Int(bits)
    }

    /// `1280x720`.
    static func size(_ text: String) throws -> FrameSize {
        let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let width = parts[0], let height = parts[1] else {
            throw ValidationError("Write a size as 1280x720.")
        }
        guard (32...8192).contains(width), (32...8192).contains(height), width % 2 == 0, height % 2 == 0 else {
            throw ValidationError("Both sides must be even and from 32 to 8192.")
        }
        return FrameSize(width: width, height: height)
    }

    /// `30`, `25`, `30000/1001`, or the usual decimals `23.976`, `29.97` and `59.94`.
    static func frameRate(_ text: String) throws -> FrameRate {
        let decimals = [
            "23.976": (24000, 1001), "23.98": (24000, 1001), "29.97": (30000, 1001), "59.94": (60000, 1001),
        ]
        if let (numerator, denominator) = decimals[text] { return FrameRate(Int32(numerator), Int32(denominator)) }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int32($0) }
        guard let first = parts.first, let numerator = first, parts.count <= 2, numerator > 0 else {
            throw ValidationError("Write a frame rate as 30, 25, 29.97 or 30000/1001.")
        }
        guard let denominator = parts.count == 2 ? parts[1] : 1, denominator > 0 else {
            throw ValidationError("Write a frame rate as 30, 25, 29.97 or 30000/1001.")
        }
        let rate = FrameRate(numerator, denominator)
        guard rate.value >= 1, rate.value <= 120 else { throw ValidationError("It must be from 1 to 120.") }
        return rate
    }

    private static func message<T>(_ body: () throws(TextFailure) -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw ValidationError(error.description)
        }
    }
}
