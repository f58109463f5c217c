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

    /// Takes out what lies in a file of these program times, as its chapters; what lies before is forgotten.
    mutating func chapters(in file: Range<Int64>) -> [Chapter] {
        let found = moments.filter { file.contains($0.time) }
        moments.removeAll { $0.time < file.upperBound }
        return found.map { Chapter(start: $0.time - file.lowerBound, title: $0.text) }
    }
}
