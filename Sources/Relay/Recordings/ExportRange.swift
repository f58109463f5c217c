// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Media

/// A range of wall-clock time, as users write it on the command line.
struct ExportRange: Equatable {
    /// The range in milliseconds since 1970-01-01T00:00:00Z.
    let milliseconds: Range<Int64>

    /// Reads two times such as `2026-11-21T14:03:10Z`. The second may instead be a duration from the first on, such as
    /// `+14:27` or `+30s`.
    init(from: String, to: String) throws {
        let start = try Self.moment(from, "--from")
        let end = to.hasPrefix("+") ? start + (try Self.length(to)) : try Self.moment(to, "--to")
        guard start < end else { throw ValidationError("--to must be later than --from.") }
        milliseconds = start..<end
    }

    /// Returns the range of `--from` and `--to`; nil if neither is given. Throws if only one of them is given.
    static func optional(from: String?, to: String?) throws -> Range<Int64>? {
        try ranges(from: from.map { [$0] } ?? [], to: to.map { [$0] } ?? []).first
    }

    /// Returns the ranges of all `--from` and `--to`. Throws unless both are given equally often.
    static func ranges(from: [String], to: [String]) throws -> [Range<Int64>] {
        guard from.count == to.count else { throw ValidationError("--from and --to are given together.") }
        return try zip(from, to).map { try ExportRange(from: $0, to: $1).milliseconds }
    }

    /// Reads a time in UTC, with up to nine fractional digits, as the HTTP API does. The final `Z` may be missing.
    private static func moment(_ text: String, _ flag: String) throws -> Int64 {
        let body = text.hasSuffix("Z") ? text.dropLast() : text[...]
        let parts = body.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? parts[1] : "0"
        guard let seconds = parts.first, (1...9).contains(fraction.utf8.count),
            fraction.utf8.allSatisfy({ (48...57).contains($0) }),
            let time = UTCTime(extended: "\(seconds).\((fraction + "00").prefix(3))Z")
        else { throw ValidationError("\(flag) is a time in UTC, such as 2026-11-21T14:03:10.250Z.") }
        return time.milliseconds
    }

    /// Reads a duration such as `+14:27`, `+1:02:03.5`, `+30s` or `+90`; returns milliseconds.
    private static func length(_ text: String) throws -> Int64 {
        let wrong = ValidationError("--to is a time in UTC, or a length from --from on, such as +14:27 or +30s.")
        let fields = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
        if fields.count == 1 {
            guard let length = try? DurationText(parsing: String(fields[0])).duration else { throw wrong }
            return length.inNanoseconds / 1_000_000
        }
        var total: Int64 = 0
        for (index, field) in fields.enumerated() {
            let isLast = index == fields.count - 1
            guard fields.count <= 3, let unit = try? DurationText(parsing: String(field)).duration,
                field.allSatisfy({ $0.isNumber || isLast && $0 == "." }), index == 0 || unit < .seconds(60)
            else { throw wrong }
            let (scaled, overflow) = total.multipliedReportingOverflow(by: 60)
            guard !overflow, scaled < 1 << 60 else { throw wrong }
            total = scaled + unit.inNanoseconds / 1_000_000
        }
        return total
    }
}
