// SPDX-License-Identifier: Apache-2.0

package import Archive
package import Media
internal import Synchronization

/// The states of a recorder.
package enum RecorderState: String, Sendable, Codable, CaseIterable {
    /// No file is open; the recorder waits for a keyframe.
    case waiting
    /// The recorder is writing.
    case recording
    /// The storage guard has suspended the recorder.
    case suspended
    /// Writing failed, and is tried again each second; or the encoder failed.
    case failed
    /// The recorder has ended.
    case stopped
}

/// The recorder's status for operators.
package struct RecorderStatus: Sendable, Codable {
    /// The recorder's state.
    package var state = RecorderState.waiting
    /// The name of the open file, without its directory.
    package var fileName: String?
    /// Size of the open file on disk, in bytes.
    package var segmentBytes: Int64 = 0
    /// Media time in the open file, in seconds.
    package var segmentSeconds = 0.0
    /// Bytes of media and headers in all files.
    package var totalBytes: Int64 = 0
    /// Files that were closed and have their final names.
    package var segmentsFinished = 0
    /// The name of the file that was finished last.
    package var lastFinished: String?
    /// Frames on disk, in all files.
    package var framesWritten = 0
    /// Whether this recorder has written any media to the disk: frames, or the audio of a program without video.
    package var hasMedia = false
    /// Frames that were left out at the end of files, because frames before them in presentation order never arrived.
    /// This happens when a sender breaks off.
    package var incompleteFrames = 0
    /// The number of gaps that have ended since the recorder was created.
    package var gapCount = 0
    /// The number of gaps that have ended, by cause.
    package var gapCauses: [RecordingGap.Cause: Int] = [:]
    /// Frames missing in all gaps, including the current one.
    package var gapFrames = 0
    /// The newest gaps that have ended, at most 100.
    package var gaps: [RecordingGap] = []
    /// The last failure, in words.
    package var lastError: String?
    /// Why the recorder is suspended.
    package var suspension: String?
    /// Queued payload, in bytes.
    package var queueBytes = 0
    /// Queued media time, in milliseconds.
    package var queueMilliseconds: Int64 = 0
    /// How long it takes to write a fragment to the open file.
    package var writeLatency = WriteLatencyStatus()
    /// How long it takes to make an open file durable while the recorder writes.
    package var syncLatency = WriteLatencyStatus()
    /// The program time at which the open file is planned to end; nil if no file is open, or if no time is planned.
    package var nextCut: ProgramInstant?
    /// The keyframes that the recorder has requested, for the metric `relay_recorder_keyframes_requested_total`.
    /// `timed` counts requests for planned ends of files, `prompt` counts requests for keyframes as soon as possible.
    package var keyframesRequested = CountedKeyframes.Counts()

    /// Creates the status of a recorder that has done nothing yet.
    package init() {}

    /// Records that no more packets arrive, for `reason`.
    package mutating func fail(because reason: String) {
        if state != .stopped { state = .failed }
        lastError = reason
    }

    /// Adds `gap`, which has ended, to the counters and to ``gaps``.
    mutating func count(_ gap: RecordingGap) {
        gapCount += 1
        gapCauses[gap.cause, default: 0] += 1
        gapFrames += gap.frames
        gaps.append(gap)
        if gaps.count > 100 { gaps.removeFirst() }
    }
}

/// Holds the recorder's status. The recorder's queue and the closing queue write it; any thread reads it.
final class RecorderStatusBox: Sendable {
    let value = Mutex(RecorderStatus())
    /// The recorded stretch; nil until the first file begins.
    let stretch = Mutex<RecordedStretch?>(nil)
}

/// The part of the program that a recorder has on disk.
package struct RecordedStretch: Sendable, Equatable {
    /// Identifies the recorder's run. Program times can be compared only within one run.
    package var run: String
    /// Start of the first frame of the first file.
    package var start: ProgramInstant
    /// End of the last frame on disk.
    package var end: ProgramInstant
    /// Start of the first frame of the newest file.
    package var fileStart: ProgramInstant
    /// When the frame at ``fileStart`` was on air.
    package var fileTime: UTCTime

    /// Creates a stretch with these times.
    package init(
        run: String, start: ProgramInstant, end: ProgramInstant, fileStart: ProgramInstant, fileTime: UTCTime
    ) {
        (self.run, self.start, self.end) = (run, start, end)
        (self.fileStart, self.fileTime) = (fileStart, fileTime)
    }

    /// Returns when program time `time` was on air, computed from the newest file.
    package func time(of time: ProgramInstant) -> UTCTime {
        UTCTime(milliseconds: fileTime.milliseconds + (time - fileStart).inMilliseconds)
    }
}
