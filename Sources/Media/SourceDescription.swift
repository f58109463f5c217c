// SPDX-License-Identifier: Apache-2.0

/// Properties of a source that relay reads when it opens the source.
package struct SourceDescription: Sendable {
    /// The video format that a program needs to show the source at its own size: display size after rotation (made
    /// even), nominal frame rate, pixel aspect ratio, color. Nil if the source has no video.
    package var video: VideoFormat?
    /// Whether the source has audio.
    package var hasAudio: Bool
    /// Whether media arrives in real time and must be read when it arrives.
    package var isLive: Bool
    /// Duration of the source, if it is known.
    package var duration: Duration?
    /// Whether the source is a file that is shorter than its own tables say, for example because it was copied only in
    /// part.
    package var isCutOff = false

    package init(video: VideoFormat?, hasAudio: Bool, isLive: Bool, duration: Duration?) {
        self.video = video
        self.hasAudio = hasAudio
        self.isLive = isLive
        self.duration = duration
    }
}
