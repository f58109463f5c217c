// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// A stretch of the program that is in no file.
package struct RecordingGap: Sendable, Codable, Equatable {
    /// What sorts of gaps there are.
    package enum Cause: String, Sendable, Codable, CodingKeyRepresentable, CaseIterable {
        /// The storage guard had stopped the recording.
        case storage
        /// The disk was too slow, and too much waited for it.
        case overflow
        /// A write failed, or the encoder.
        case failure
        /// The disk failed before it had written what it had accepted.
        case lost
    }

    /// Program time in nanoseconds of the first frame that is missing.
    package var from: Int64
    /// Program time in nanoseconds of the first frame behind the gap; nil while it lasts.
    package var to: Int64?
    /// Why, in words.
    package var reason: String
    /// Why, as a sort.
    package var cause: Cause
    /// Frames that are missing; 0 of a program of audio alone.
    package var frames: Int
    /// Names the run of the recorder, as ``SegmentPosition/run`` does.
    package var run = ""
}

extension RecordingGap {
    /// How much of a file is there when it turns out what the disk has kept.
    enum Kept: Equatable {
        /// All that was written.
        case all
        /// This many of its frames.
        case frames(Int)
        /// The part before this program time, in nanoseconds, of a file of audio alone.
        case audio(upTo: Int64)
        /// Nothing that can be played.
        case nothing
    }

    /// Half of the shortest packet of audio: a recording that ends so close to the end is whole.
    private static let tolerance: Int64 = 1_000_000

    /// What is missing of the file that `written` describes, if only `kept` of it is there; nil if nothing is missing.
    /// A disk that fails takes with it what the system had not written yet, and only the file itself tells how much
    /// that was.
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
        // An empty file leaves no gap.
        guard from < written.programEnd else { return nil }
        to = written.programEnd
        reason = "the disk failed before it had written them"
        cause = .lost
        run = written.run
    }

    /// What is missing, for a log.
    var amount: String { Self.amount(frames: frames, length: to.map { $0 - from }) }

    /// What a gap of `frames` and of `length` nanoseconds misses, for people: frames, or seconds if it has no frames,
    /// as in a program of audio alone.
    package static func amount(frames: Int, length: Int64?) -> String {
        guard frames == 0, let length, length > 0 else { return "\(frames) frames" }
        let milliseconds = length / 1_000_000
        return "\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst()) s"
    }
}

extension SegmentRecord {
    /// Program time behind the first `count` frames. Frames of one file follow each other at the program's rate.
    fileprivate func time(behind count: Int) -> Int64 {
        programStart + Int64(Int128(programEnd - programStart) * Int128(count) / Int128(frames))
    }

    /// What is known of the file if only `kept` of it is there, in `bytes` bytes.
    func shortened(to kept: RecordingGap.Kept, fileName: String, bytes: Int64) -> SegmentRecord {
        var record = self
        (record.fileName, record.bytes) = (fileName, bytes)
        guard let gap = RecordingGap(lostOf: self, kept: kept) else { return record }
        (record.programEnd, record.frames, record.ending) = (gap.from, frames - gap.frames, .error)
        let length = programEnd - programStart
        record.audioSamples = Int64(Int128(audioSamples) * Int128(gap.from - programStart) / Int128(length))
        return record
    }
}
