// SPDX-License-Identifier: Apache-2.0

public import Media

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

/// What the recorder does.
public enum RecorderState: String, Sendable, Codable {
    /// Waits for the first keyframe.
    case waiting
    /// Writes.
    case recording
    /// The storage guard has stopped it for now.
    case suspended
    /// Writing failed; tried again each second.
    case failed
    /// Over.
    case stopped
}

/// How long writes take.
public struct WriteLatencyStatus: Sendable, Codable, Equatable {
    /// Writes counted.
    public var count = 0
    /// The bound under which half of them stay, in milliseconds; a power of two of microseconds.
    public var p50Milliseconds = 0.0
    /// The longest, in milliseconds.
    public var maximumMilliseconds = 0.0
    /// The bound under which 99 of 100 stay, in milliseconds; a power of two of microseconds.
    public var p99Milliseconds = 0.0
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
    /// Gaps since the start.
    public var gapCount = 0
    /// Frames missing over all gaps.
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

    /// Takes in a gap that is over.
    mutating func count(_ gap: RecordingGap) {
        gapCount += 1
        gapFrames += gap.frames
        gaps.append(gap)
        if gaps.count > 100 { gaps.removeFirst() }
    }
}

/// A histogram of durations by powers of two of microseconds: fixed in size, exact in its maximum.
struct LatencyHistogram {
    private var buckets = [Int](repeating: 0, count: 40)
    private var count = 0
    private var maximum: Int64 = 0

    /// Counts one duration in nanoseconds.
    mutating func record(_ nanoseconds: Int64) {
        let microseconds = UInt64(clamping: nanoseconds / 1000)
        let index = min(buckets.count - 1, UInt64.bitWidth - microseconds.leadingZeroBitCount)
        buckets[index] += 1
        count += 1
        maximum = max(maximum, nanoseconds)
    }

    /// The bound in milliseconds under which `percent` of 100 stay.
    private func bound(_ percent: Int) -> Double {
        var seen = 0
        let index = buckets.firstIndex { bucket in
            seen += bucket
            return seen * 100 >= count * percent
        }
        let bound = count == 0 ? 0 : Double(UInt64(1) << UInt64(index ?? 0)) / 1000
        return min(bound, Double(maximum) / 1e6)
    }

    var status: WriteLatencyStatus {
        WriteLatencyStatus(
            count: count, p50Milliseconds: bound(50), maximumMilliseconds: Double(maximum) / 1e6,
            p99Milliseconds: bound(99))
    }
}
