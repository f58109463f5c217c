// SPDX-License-Identifier: Apache-2.0

package import MP4

/// What a file of a recording says about itself: its tags and its sample tables. No media is read.
package struct SegmentFacts: Sendable, Equatable {
    /// The channel's name.
    package var channel: String
    /// When the first frame was on air, by the wall clock.
    package var start: UTCTime
    /// Where the file lies in its program; nil in a file of a version that did not say it.
    package var position: SegmentPosition?
    /// The file's size.
    package var bytes: Int64
    /// Whether the file is a plain MP4; if not, it is a fragmented one that was left open, or meant to be one.
    package var isClosed: Bool
    /// The track that the file's times are those of: the video, or the audio of a file that is to hold nothing else.
    package var leading: TrackFacts
    /// Frames; 0 in a file of audio alone.
    package var frames: Int
    /// The audio track; nil if the file holds no audio.
    package var audio: TrackFacts?
    /// What is wrong with the tables, one sentence each.
    package var problems: [String]

    /// How long the leading track lasts, in nanoseconds.
    package var duration: Int64 { leading.nanoseconds(leading.shown) }
    /// How long one of its frames or packets lasts, in nanoseconds.
    package var frameDuration: Int64 { leading.nanoseconds(leading.sampleDuration) }
}
