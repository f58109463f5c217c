// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// What the recorder does.
package enum RecorderState: String, Sendable, Codable, CaseIterable {
    /// Waits for the first keyframe.
    case waiting
    /// Writes.
    case recording
    /// The storage guard has stopped it for now.
    case suspended
    /// Writing failed, which is tried again each second, or what makes its packets did.
    case failed
    /// Over.
    case stopped
}

/// What an operator sees of the recorder.
package struct RecorderStatus: Sendable, Codable {
    /// What it does.
    package var state = RecorderState.waiting
    /// The file being written, without a directory.
    package var fileName: String?
    /// Bytes of that file on disk.
    package var segmentBytes: Int64 = 0
    /// Media time in that file, in seconds.
    package var segmentSeconds = 0.0
    /// Bytes of media and headers written to all files.
    package var totalBytes: Int64 = 0
    /// Files closed and named.
    package var segmentsFinished = 0
    /// The last of them.
    package var lastFinished: String?
    /// Frames on disk, over all files.
    package var framesWritten = 0
    /// Whether anything of this run is on disk: frames, or the audio of a program that has no other track.
    package var hasMedia = false
    /// Frames at the end of files that are not on disk, because some that are shown before them never came: what a sender
    /// leaves that breaks off.
    package var incompleteFrames = 0
    /// Gaps since the start.
    package var gapCount = 0
    /// The same by cause.
    package var gapCauses: [RecordingGap.Cause: Int] = [:]
    /// Frames missing over all gaps, also over one that lasts.
    package var gapFrames = 0
    /// The last gaps, at most 100.
    package var gaps: [RecordingGap] = []
    /// The last failure in words.
    package var lastError: String?
    /// Why the recorder is suspended.
    package var suspension: String?
    /// Payload bytes that wait.
    package var queueBytes = 0
    /// Media time that waits, in milliseconds.
    package var queueMilliseconds: Int64 = 0
    /// How long writes take.
    package var writeLatency = WriteLatencyStatus()
    /// How long making an open file durable takes, beside the writing.
    package var syncLatency = WriteLatencyStatus()
    /// Program time in nanoseconds at which the open file is to end; nil if only its size matters.
    package var nextCut: Int64?
    /// Keyframes that the recorder asked for: `relay_recorder_keyframes_requested_total`, by `timed` (a cut's) and
    /// `prompt` (a beginning's).
    package var keyframesRequested = CountedKeyframes.Counts()

    /// A recorder that has done nothing.
    package init() {}

    /// Nothing comes any more, for `reason`.
    package mutating func fail(because reason: String) {
        if state != .stopped { state = .failed }
        lastError = reason
    }

    /// Takes in a gap that is over.
    mutating func count(_ gap: RecordingGap) {
        gapCount += 1
        gapCauses[gap.cause, default: 0] += 1
        gapFrames += gap.frames
        gaps.append(gap)
        if gaps.count > 100 { gaps.removeFirst() }
    }
}

/// The recorder's status, written by its queue and the closing queue, read by anyone.
final class RecorderStatusBox: Sendable {
    let value = Mutex(RecorderStatus())
    /// Nil until the first file is begun.
    let stretch = Mutex<RecordedStretch?>(nil)
}
