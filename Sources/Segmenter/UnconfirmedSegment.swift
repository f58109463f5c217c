// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// What a file that could not be closed was thought to hold. A disk that fails takes with it what the system had not
/// written to it yet, and only the file itself tells how much that was.
struct UnconfirmedSegment: Sendable, Equatable {
    /// Program time of its first frame, in nanoseconds.
    var from: Int64
    /// Program time at which its frames end, in nanoseconds.
    var to: Int64
    /// Frames.
    var frames: Int
    /// When its first frame was on air.
    var start: UTCTime
    /// The recorder's run that the times are of.
    var run = ""

    /// The end that is missing if only `found` frames are there, and when it was on air; nil if all are.
    func loss(found: Int) -> (gap: RecordingGap, start: UTCTime)? {
        guard found < frames, found >= 0 else { return nil }
        // Frames of one file follow each other at the program's rate.
        let kept = Int64(Int128(to - from) * Int128(found) / Int128(frames))
        let gap = RecordingGap(
            from: from + kept, to: to, reason: "the disk failed before it had written them", frames: frames - found,
            run: run)
        return (gap, UTCTime(milliseconds: start.milliseconds + kept / 1_000_000))
    }
}
