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
    /// Frames that are missing; 0 of a program of audio alone.
    public var frames: Int
    /// Names the run of the recorder, as ``SegmentPosition/run`` does.
    public var run = ""
}

extension RecordingGap {
    /// What is there of a file when it turns out what the disk has kept.
    enum Kept: Equatable {
        /// All that was written.
        case all
        /// So many of its frames.
        case frames(Int)
        /// Of a file of audio alone, what lies before this program time, in nanoseconds.
        case audio(upTo: Int64)
        /// Nothing that can be played.
        case nothing
    }

    /// Half of the shortest packet of audio: what ends so close to the end is whole.
    private static let tolerance: Int64 = 1_000_000

    /// What is missing of the file that `written` tells of, if only `kept` of it is there; nil if nothing is. A disk that
    /// fails takes with it what the system had not written yet, and only the file itself tells how much that was.
    init?(lostOf written: SegmentRecord, kept: Kept) {
        switch kept {
        case .all: return nil
        case .frames(let count):
            guard 0..<written.frames ~= count else { return nil }
            (from, frames) = (written.time(behind: count), written.frames - count)
        case .audio(let end):
            guard end < written.programEnd - Self.tolerance else { return nil }
            (from, frames) = (max(end, written.programStart), 0)
        case .nothing: (from, frames) = (written.programStart, written.frames)
        }
        to = written.programEnd
        reason = "the disk failed before it had written them"
        run = written.run
    }

    /// What is missing, for a log: frames, or of a program of audio alone seconds.
    var amount: String {
        guard frames == 0, let to, to > from else { return "\(frames) frames" }
        let milliseconds = (to - from) / 1_000_000
        return "audio of \(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst()) s"
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
