// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Marked moments of the program that are not in a closed file yet.
struct MarkedMoments {
    /// How many moments may wait; a file has no room for more chapters.
    private static let most = 255

    private var moments: [(time: Int64, text: String)] = []

    /// Marks `time`, in nanoseconds of program time.
    mutating func add(_ text: String, at time: Int64) {
        if moments.count == Self.most { moments.removeFirst() }
        moments.append((time, text))
        moments.sort { $0.time < $1.time }
    }

    /// Removes the moments in a file of these program times and returns them as its chapters. A moment that was marked
    /// too late for the previous file, or falls into a gap, goes to the start of this one. No file follows the last
    /// one, so it gets all remaining moments, at the time of `lastFrame` at the latest.
    mutating func chapters(in file: Range<Int64>, lastFrame: Int64? = nil) -> [Chapter] {
        let found = lastFrame == nil ? moments.filter { $0.time < file.upperBound } : moments
        moments.removeFirst(found.count)
        return found.map { moment in
            let time = min(moment.time, lastFrame ?? moment.time)
            return Chapter(start: max(0, time - file.lowerBound), title: moment.text)
        }
    }
}
