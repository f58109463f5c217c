// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Program
internal import Status

extension RunDownStatus {
    /// The position of the run-down in one line: the current segment with its number and remaining time, the next
    /// segment, and the last failure.
    var words: String {
        var words: [String] = []
        if let current {
            words.append("\(current.name) (\(current.index + 1))")
            if let seconds = current.remainingSeconds { words.append("\(Figure.clock(seconds)) left") }
        }
        if let next { words.append("then \(next.name)" + (next.isReady == false ? ", which is being opened" : "")) }
        if let remainingSeconds { words.append("\(Figure.clock(remainingSeconds)) in all") }
        if lateFrames > 0 { words.append("late by \(lateFrames) frames") }
        if let failure { words.append(failure) }
        return words.joined(separator: "  ")
    }
}
