// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

/// Moments of the program that an operator has marked, and that are not in a closed file yet.
struct MarkedMoments {
    /// The maximum number of waiting marks; a file cannot contain more chapters.
    private static let most = 255

    private var moments: [(time: ProgramInstant, text: String)] = []

    /// Marks `time`.
    mutating func add(_ text: String, at time: ProgramInstant) {
        if moments.count == Self.most { moments.removeFirst() }
        moments.append((time, text))
        moments.sort { $0.time < $1.time }
    }

    /// Removes the marks within the file's program times and returns them as the file's chapters. A mark that came too
    /// late for the previous file, or that falls into a gap, becomes a chapter at the start of this file. `lastFrame`
    /// is given for the last file: it gets all remaining marks, because no file follows. Marks that are later than
    /// `lastFrame` are moved to `lastFrame`.
    mutating func chapters(in file: Range<ProgramInstant>, lastFrame: ProgramInstant? = nil) -> [Chapter] {
        let found = lastFrame == nil ? moments.filter { $0.time < file.upperBound } : moments
        moments.removeFirst(found.count)
        return found.map { moment in
            let time = min(moment.time, lastFrame ?? moment.time)
            return Chapter(start: .zero + max(.zero, time - file.lowerBound), title: moment.text)
        }
    }
}
