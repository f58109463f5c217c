// SPDX-License-Identifier: Apache-2.0

package import MP4

/// A recording's own metadata: its tags and its sample tables. No media is read.
package struct SegmentFacts: Sendable, Equatable {
    /// The channel's name.
    package var channel: String
    /// When the first frame was on air, by the wall clock.
    package var start: UTCTime
    /// The file's position in its program; nil in a file from a version that did not write it.
    package var position: SegmentPosition?
    /// The file's size in bytes.
    package var bytes: Int64
    /// Whether the file is a plain MP4. Otherwise it is a fragmented MP4, which was left open or was recorded in that
    /// format.
    package var isClosed: Bool
    /// The track that the file's times refer to: the video, or the audio in a file of audio alone.
    package var leading: TrackFacts
    /// The number of frames; 0 in a file of audio alone.
    package var frames: Int
    /// The audio track; nil if the file holds no audio.
    package var audio: TrackFacts?
    /// The errors in the tables, one sentence each.
    package var problems: [String]

    /// The duration of the leading track, in nanoseconds.
    package var duration: Int64 { leading.nanoseconds(leading.shown) }
    /// The duration of one frame or packet of the leading track, in nanoseconds.
    package var frameDuration: Int64 { leading.nanoseconds(leading.sampleDuration) }
}
