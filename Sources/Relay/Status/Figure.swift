// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Program
internal import Status

/// Formats numbers for people.
enum Figure {
    /// Formats seconds as `01:02:03`; a negative number becomes 0.
    static func clock(_ seconds: Int64) -> String {
        let whole = max(0, seconds)
        return [whole / 3600, whole / 60 % 60, whole % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    /// Formats seconds that another process has sent, which may be any number.
    static func clock(_ seconds: Double) -> String { clock(whole(min(seconds, 1e9))) }

    /// Returns the whole part of a number that another process has sent, which may be any number; between 0 and 1e12.
    static func whole(_ value: Double) -> Int64 { Int64(min(max(value, 0), 1e12)) }

    /// Formats a number with one decimal; a negative number becomes 0.
    static func decimal(_ value: Double) -> String {
        let tenths = Int64((min(max(value, 0), 1e12) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension RunDownStatus {
    /// The state of the run-down in one line: the current segment with its number and remaining time, the next segment,
    /// the total remaining time, delays, and the last failure.
    var words: String {
        var words: [String] = []
        if let current {
            words.append("\(current.name) (\(min(current.index, .max - 1) + 1))")
            if let seconds = current.remainingSeconds { words.append("\(Figure.clock(seconds)) left") }
        }
        if let next { words.append("then \(next.name)" + (next.isReady == false ? ", which is being opened" : "")) }
        if let remainingSeconds { words.append("\(Figure.clock(remainingSeconds)) in all") }
        if lateFrames > 0 { words.append("late by \(lateFrames) frames") }
        if let failure { words.append(failure) }
        return words.joined(separator: "  ")
    }
}
