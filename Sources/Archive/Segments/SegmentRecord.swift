// SPDX-License-Identifier: Apache-2.0

package import Media

/// The facts about a file when it is closed.
package struct SegmentRecord: Sendable, Codable, Equatable {
    /// The file's name, relative to the recording's directory: its final name or, if the file could not be closed, its
    /// open name.
    package var fileName: String
    /// The channel.
    package var channel: String
    /// The file's number within the channel.
    package var sequence: Int
    /// When the file's first frame was on air, by the wall clock.
    package var start: UTCTime
    /// The program time of the file's first frame.
    package var programStart: ProgramInstant
    /// The program time at which the file's frames end.
    package var programEnd: ProgramInstant
    /// The number of frames.
    package var frames: Int
    /// The number of audible samples for each audio channel. The hidden pre-roll does not count.
    package var audioSamples: Int64
    /// The closed file's size in bytes or, if the file could not be closed, the bytes that were written to it.
    package var bytes: Int64
    /// How the file ended.
    package var ending: SegmentEnding
    /// Identifies the run of the recorder: program times can be compared within one run. Empty if it is unknown.
    package var run = ""

    package init(
        fileName: String, channel: String, sequence: Int, start: UTCTime, programStart: ProgramInstant,
        programEnd: ProgramInstant, frames: Int, audioSamples: Int64, bytes: Int64, ending: SegmentEnding,
        run: String = ""
    ) {
        (self.fileName, self.channel, self.sequence, self.start) = (fileName, channel, sequence, start)
        (self.programStart, self.programEnd) = (programStart, programEnd)
        (self.frames, self.audioSamples, self.bytes) = (frames, audioSamples, bytes)
        (self.ending, self.run) = (ending, run)
    }
}
