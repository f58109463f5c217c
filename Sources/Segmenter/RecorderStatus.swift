// SPDX-License-Identifier: Apache-2.0

public import Media
internal import Synchronization

/// What the recorder does.
public enum RecorderState: String, Sendable, Codable, CaseIterable {
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
public struct RecorderStatus: Sendable, Codable {
    /// What it does.
    public var state = RecorderState.waiting
    /// The file being written, without a directory.
    public var fileName: String?
    /// Bytes of that file on disk.
    public var segmentBytes: Int64 = 0
    /// Media time in that file, in seconds.
    public var segmentSeconds = 0.0
    /// Bytes of media and headers written to all files.
    public var totalBytes: Int64 = 0
    /// Files closed and named.
    public var segmentsFinished = 0
    /// The last of them.
    public var lastFinished: String?
    /// Frames on disk, over all files.
    public var framesWritten = 0
    /// Whether anything of this run is on disk: frames, or the audio of a program that has no other track.
    public var hasMedia = false
    /// Frames at the end of files that are not on disk, because some that are shown before them never came: what a sender
    /// leaves that breaks off.
    public var incompleteFrames = 0
    /// Gaps since the start.
    public var gapCount = 0
    /// The same by cause.
    public var gapCauses: [RecordingGap.Cause: Int] = [:]
    /// Frames missing over all gaps, also over one that lasts.
    public var gapFrames = 0
    /// The last gaps, at most 100.
    public var gaps: [RecordingGap] = []
    /// The last failure in words.
    public var lastError: String?
    /// Why the recorder is suspended.
    public var suspension: String?
    /// Payload bytes that wait.
    public var queueBytes = 0
    /// Media time that waits, in milliseconds.
    public var queueMilliseconds: Int64 = 0
    /// How long writes take.
    public var writeLatency = WriteLatencyStatus()
    /// How long making an open file durable takes, beside the writing.
    public var syncLatency = WriteLatencyStatus()
    /// Program time in nanoseconds at which the open file is to end; nil if only its size matters.
    public var nextCut: Int64?
    /// Keyframes that the recorder asked for: `relay_recorder_keyframes_requested_total`, by `timed` (a cut's) and
    /// `prompt` (a beginning's).
    public var keyframesRequested = CountedKeyframes.Counts()

    /// A recorder that has done nothing.
    public init() {}

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
