// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Moments of the program that somebody marked and that lie in no closed file yet.
struct MarkedMoments {
    /// So many can wait; a file has no room for more.
    private static let most = 255

    private var moments: [(time: Int64, text: String)] = []

    /// Marks `time`, in nanoseconds of program time.
    mutating func add(_ text: String, at time: Int64) {
        if moments.count == Self.most { moments.removeFirst() }
        moments.append((time, text))
        moments.sort { $0.time < $1.time }
    }

    /// Takes out what lies in a file of these program times, as its chapters. What was marked too late for the file before, or
    /// lies in a hole between two, begins this one. Behind the last file nothing comes: all that is left belongs to it, and
    /// begins with `lastFrame` at the latest.
    mutating func chapters(in file: Range<Int64>, lastFrame: Int64? = nil) -> [Chapter] {
        let found = lastFrame == nil ? moments.filter { $0.time < file.upperBound } : moments
        moments.removeFirst(found.count)
        return found.map { moment in
            let time = min(moment.time, lastFrame ?? moment.time)
            return Chapter(start: max(0, time - file.lowerBound), title: moment.text)
        }
    }
}
