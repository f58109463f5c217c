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
        from = written.time(behind: found)
        to = written.programEnd
        reason = "the disk failed before it had written them"
        frames = written.frames - found
        run = written.run
    }
}

extension SegmentRecord {
    /// Program time behind the first `count` frames. Frames of one file follow each other at the program's rate.
    fileprivate func time(behind count: Int) -> Int64 { programStart + share(count, of: programEnd - programStart) }

    private func share(_ count: Int, of whole: Int64) -> Int64 {
        frames > 0 ? Int64(Int128(whole) * Int128(count) / Int128(frames)) : whole
    }

    /// What is known of the file if only `count` of its frames are there, in `bytes` bytes.
    func kept(_ count: Int, fileName: String, bytes: Int64) -> SegmentRecord {
        var kept = self
        (kept.fileName, kept.bytes) = (fileName, bytes)
        guard count < frames else { return kept }
        (kept.programEnd, kept.audioSamples) = (time(behind: count), share(count, of: audioSamples))
        (kept.frames, kept.ending) = (count, .error)
        return kept
    }
}
