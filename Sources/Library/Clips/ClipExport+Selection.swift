// SPDX-License-Identifier: Apache-2.0

internal import Stitcher

extension ClipExport {
    /// Returns the `files` of the run that overlap the clip, and the clip's range in milliseconds since 1970, computed
    /// from the dates of the files. The range begins and ends in the middle of a frame, because milliseconds are too
    /// coarse for the beginning of a frame.
    func selection(
        _ files: [RunFile], in directory: String
    ) throws(ClipFailure) -> (files: [(path: String, name: String)], range: Range<Int64>) {
        let half = frameDuration / 2
        let middle = times.lowerBound + half..<max(times.lowerBound + half + 1, times.upperBound - half)
        let found = files.filter { $0.program.overlaps(times) }
        guard let first = found.first, let last = found.last else {
            throw ClipFailure("Nothing of the clip is recorded any more.")
        }
        func milliseconds(_ time: Int64, _ file: RunFile) -> Int64 {
            file.start + (time - file.program.lowerBound) / 1_000_000
        }
        let start = milliseconds(middle.lowerBound, first)
        return (
            found.map { ("\(directory)/\($0.name)", $0.name) },
            start..<max(start + 1, milliseconds(middle.upperBound, last))
        )
    }

    /// Corrects `report`, which makes the clip half a frame longer at both ends, to the frames of the clip.
    func tell(_ report: inout ClipReport) {
        let frame = frameDuration / 1_000_000 + 1
        if report.widenedStart <= frame { report.widenedStart = 0 }
        if report.widenedEnd <= frame { report.widenedEnd = 0 }
    }
}
