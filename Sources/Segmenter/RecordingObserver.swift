// SPDX-License-Identifier: Apache-2.0

/// How a file of a recording came to its end.
public enum SegmentEnding: String, Sendable, Codable {
    /// It was long enough, and the next one follows without a hole.
    case rotate
    /// The program was over.
    case stop
    /// Writing or reading failed, or the recorder fell too far behind.
    case error
    /// The storage guard stopped the recording, or the disk was full.
    case disk
    /// A crash left it open, and the next start completed it.
    case recovered
}

/// What is known of a file when it is closed.
public struct SegmentRecord: Sendable, Codable, Equatable {
    /// The closed file's name, relative to the recording's directory.
    public var fileName: String
    /// The channel.
    public var channel: String
    /// The file's number within the channel.
    public var sequence: Int
    /// When its first frame was on air, by the wall clock.
    public var start: UTCTime
    /// Program time of its first frame, in nanoseconds.
    public var programStart: Int64
    /// Program time at which its frames end, in nanoseconds.
    public var programEnd: Int64
    /// Frames.
    public var frames: Int
    /// Samples of audio for each channel that are heard: without the hidden pre-roll.
    public var audioSamples: Int64
    /// The closed file's size.
    public var bytes: Int64
    /// How it ended.
    public var ending: SegmentEnding
    /// Names the run of the recorder: program times of one run can be compared. Empty if it is not known.
    public var run = ""
}

/// Where a file lies in the program that it is a part of, as the file itself says.
public struct SegmentPosition: Sendable, Equatable {
    /// Names the run of the recorder: program times of one run can be compared.
    public var run: String
    /// Program time of the first frame, in nanoseconds.
    public var programStart: Int64
    /// How the file ended; ``SegmentEnding/recovered`` while it is open, which becomes true if nobody closes it.
    public var ending: SegmentEnding

    /// A position.
    public init(run: String, programStart: Int64, ending: SegmentEnding) {
        self.run = run
        self.programStart = programStart
        self.ending = ending
    }
}

/// Whoever wants to know what a recorder did: a catalogue, an upload. Called on the recorder's and the closer's queues:
/// nothing may block there.
public protocol RecordingObserver: AnyObject, Sendable {
    /// A file has its final name and is complete.
    func segmentFinished(_ record: SegmentRecord)
    /// The file `fileName`, left open by a crash or a failed close, is complete now; what is in it must be read from it.
    func segmentRecovered(fileName: String)
    /// A gap is over; `from` and `to` are program times, and `start` is the wall clock's time of `from`.
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime)
    /// The finished file `fileName` was deleted because no more is kept.
    func segmentDeleted(fileName: String)
}

extension RecordingObserver {
    public func segmentDeleted(fileName: String) {}
}
