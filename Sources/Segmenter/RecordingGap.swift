// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// A stretch of the program that is in no file.
public struct RecordingGap: Sendable, Codable, Equatable {
    /// Program time in nanoseconds of the first frame that is missing.
    public var from: Int64
    /// Program time in nanoseconds of the first frame behind the gap; nil while it lasts.
    public var to: Int64?
    /// Why.
    public var reason: String
    /// Frames that are missing.
    public var frames: Int
    /// Names the run of the recorder, as ``SegmentPosition/run`` does.
    public var run = ""
}

extension RecordingGap {
    /// The end that is missing of the file that `written` tells of, if only `found` of its frames are there; nil if all
    /// are. A disk that fails takes with it what the system had not written yet, and only the file itself tells how much
    /// that was.
    init?(lostOf written: SegmentRecord, found: Int) {
        guard found < written.frames, found >= 0 else { return nil }
        // Frames of one file follow each other at the program's rate.
        let length = Int128(written.programEnd - written.programStart)
        from = written.programStart + Int64(length * Int128(found) / Int128(written.frames))
        to = written.programEnd
        reason = "the disk failed before it had written them"
        frames = written.frames - found
        run = written.run
    }
}
