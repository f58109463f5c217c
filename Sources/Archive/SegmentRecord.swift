// SPDX-License-Identifier: Apache-2.0

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

    /// A file of these properties.
    package init(
        fileName: String, channel: String, sequence: Int, start: UTCTime, programStart: Int64, programEnd: Int64,
        frames: Int, audioSamples: Int64, bytes: Int64, ending: SegmentEnding, run: String = ""
    ) {
        (self.fileName, self.channel, self.sequence, self.start) = (fileName, channel, sequence, start)
        (self.programStart, self.programEnd) = (programStart, programEnd)
        (self.frames, self.audioSamples, self.bytes) = (frames, audioSamples, bytes)
        (self.ending, self.run) = (ending, run)
    }
}
