// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import Media
internal import Networking
internal import Program
internal import Stitcher
internal import Studio

/// Finds the pieces of recorded files from which several clips are joined, one after the other.
struct ClipStitching {
    let clips: [StitchedClip]
    /// The archive with the clips' files.
    let archive: ChannelArchive
    /// The path of the files' directory.
    let directory: String

    /// Returns the pieces of the clips, and notes for the person who gets the joined file. A clip that spans two files
    /// becomes two pieces.
    func pieces() throws -> (pieces: [StitchClip], notes: [String]) {
        var (pieces, notes): ([StitchClip], [String]) = ([], [])
        for clip in clips {
            let files = try archive.files(ofRun: clip.clip.run)
            let found = Self.pieces(of: clip, files, in: directory)
            guard !found.isEmpty else {
                throw ClipFailure("Nothing of \(clip.title ?? "the clip") is recorded any more.")
            }
            pieces += found
            notes += Self.notes(of: clip.clip, files).map { note in clip.title.map { "\($0): \(note)" } ?? note }
        }
        return (pieces, notes)
    }

    /// Returns one note for each part of `clip` that is in none of the run's `files`. These parts are left out.
    static func notes(of clip: ClipExport, _ files: [RunFile]) -> [String] {
        var (position, notes): (ProgramInstant, [String]) = (clip.times.lowerBound, [])
        func tell(_ end: ProgramInstant) {
            // Times are rounded to nanoseconds. A difference of less than half a frame is not a gap.
            guard (end - position) * 2 > clip.frameDuration else { return }
            let start = DurationText(position - clip.times.lowerBound)
            let length = DurationText(end - position)
            notes.append("nothing was recorded for \(length), \(start) into it; it is left out")
        }
        for file in files where file.program.overlaps(clip.times) {
            tell(file.program.lowerBound)
            position = max(position, file.program.upperBound)
        }
        tell(clip.times.upperBound)
        return notes
    }

    /// The length that a piece must exceed to be used. It is the maximum rounding error of frame times.
    private static let shortest = Duration.milliseconds(1)

    static func pieces(of clip: StitchedClip, _ files: [RunFile], in directory: String) -> [StitchClip] {
        // Even a piece of less than half a frame may contain a frame: a frame of the file may begin shortly before the
        // end of the program frame to which it belongs.
        let pieces = ClipProject.pieces(clip.clip.times, frame: clip.clip.frameDuration, least: shortest, files)
        return pieces.enumerated().map { index, piece in
            var one = StitchClip(
                path: "\(directory)/\(piece.opened)", from: piece.start, to: piece.start + piece.length)
            (one.title, one.audioOffset) = (clip.title, clip.audioOffset)
            (one.takesBegun, one.mayBeEmpty) = (true, pieces.count > 1)
            if index == 0 { one.transition = clip.transition.flatMap(StitchTransition.init) }
            return one
        }
    }
}

extension StitchTransition {
    /// Creates the transition of a request; nil for a cut.
    fileprivate init?(_ request: TransitionRequest) {
        let seconds = request.seconds ?? 1
        guard request.type != .cut, seconds > 0 else { return nil }
        self.init(
            Transition(request.type, easing: request.easing ?? .linear), duration: .seconds(seconds),
            color: request.color)
    }
}
