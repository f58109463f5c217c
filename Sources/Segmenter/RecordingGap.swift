// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Media

/// A part of the program that no file contains.
package struct RecordingGap: Sendable, Codable, Equatable {
    /// The possible causes of a gap.
    package enum Cause: String, Sendable, Codable, CodingKeyRepresentable, CaseIterable {
        /// The disk was full, the storage guard suspended the recording, or another file system was mounted.
        case storage
        /// The disk was too slow, and the queue was full.
        case overflow
        /// A write failed, or the encoder failed.
        case failure
        /// The disk failed after it had accepted the data.
        case lost
    }

    /// The program time of the first missing frame.
    package var from: ProgramInstant
    /// The program time at which the gap ends; nil while the gap lasts.
    package var to: ProgramInstant?
    /// The cause, in words.
    package var reason: String
    /// The kind of cause.
    package var cause: Cause
    /// The number of missing frames; 0 for a program without video.
    package var frames: Int
    /// Identifies the recorder's run, in the same way as ``SegmentPosition/run``.
    package var run = ""
}

extension RecordingGap {
    /// How much of a file the disk has kept.
    enum Kept: Equatable {
        /// Everything that was written.
        case all
        /// This many of the file's frames. No frame is missing in the first `whole` of the file; nil if that is not
        /// known. A file that ended suddenly can have its last frame without the one that is shown before it, because
        /// frames are written in decoding order.
        case frames(Int, whole: Duration? = nil)
        /// For a file with only audio: the part before this program time.
        case audio(upTo: ProgramInstant)
        /// Nothing that can be played.
        case nothing
    }

    /// A length of time that is shorter than half of any audio packet. If a recording ends earlier than expected by
    /// less than this, it is complete.
    private static let tolerance: Duration = .milliseconds(1)

    /// Creates the gap of a file if only the part `kept` of it is on the disk; nil if nothing is missing. `written`
    /// describes what was written to the file. When a disk fails, data is lost that the operating system had not
    /// written to the disk yet. Only the file itself shows how much was lost.
    init?(lostOf written: SegmentRecord, kept: Kept) {
        switch kept {
        case .all: return nil
        case .frames(let count, let whole):
            guard 0..<written.frames ~= count else { return nil }
            from = whole.map { written.programStart + $0 } ?? written.time(behind: count)
            frames = written.frames - count
        case .audio(let end):
            guard end < written.programEnd - Self.tolerance else { return nil }
            (from, frames) = (max(end, written.programStart), 0)
        case .nothing: (from, frames) = (written.programStart, written.frames)
        }
        // For an empty file there is no gap.
        guard from < written.programEnd else { return nil }
        to = written.programEnd
        reason = "the disk failed before it had written them"
        cause = .lost
        run = written.run
    }

    /// The missing amount in words, for a log.
    var amount: String { Self.amount(frames: frames, length: to.map { $0 - from }) }

    /// Describes in words how much is missing in a gap of `frames` frames that lasts `length`. The amount is given in
    /// frames, or in seconds if the program has no video.
    package static func amount(frames: Int, length: Duration?) -> String {
        guard frames == 0, let length, length > .zero else { return "\(frames) frames" }
        let milliseconds = length.inMilliseconds
        return "\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst()) s"
    }
}

extension SegmentRecord {
    /// Returns the program time at which the first `count` frames end. This assumes that the file's frames are evenly
    /// spaced.
    fileprivate func time(behind count: Int) -> ProgramInstant {
        let length = Int128((programEnd - programStart).inNanoseconds)
        return programStart + .nanoseconds(Int64(length * Int128(count) / Int128(frames)))
    }

    /// Returns the file's record if only the part `kept` is on the disk. `fileName` and `bytes` are the file's name and
    /// size on the disk.
    func shortened(to kept: RecordingGap.Kept, fileName: String, bytes: Int64) -> SegmentRecord {
        var record = self
        (record.fileName, record.bytes) = (fileName, bytes)
        guard let gap = RecordingGap(lostOf: self, kept: kept) else { return record }
        (record.programEnd, record.frames, record.ending) = (gap.from, frames - gap.frames, .error)
        let (left, length) = ((gap.from - programStart).inNanoseconds, (programEnd - programStart).inNanoseconds)
        record.audioSamples = Int64(Int128(audioSamples) * Int128(left) / Int128(length))
        return record
    }
}
