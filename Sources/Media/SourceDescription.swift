// SPDX-License-Identifier: Apache-2.0

/// What a source turned out to be when it was opened.
package struct SourceDescription: Sendable {
    /// The video as a program of its own shape would carry it: display size after rotation (made even), nominal
    /// frame rate, pixel aspect, color. Nil when the source has no video.
    package var video: VideoFormat?
    /// Whether the source has audio.
    package var hasAudio: Bool
    /// Whether media comes at its own pace and must be taken when it comes.
    package var isLive: Bool
    /// How long the source lasts, if it says so.
    package var duration: Duration?
    /// Whether a file ends before what its own tables name, as one does that was copied in part.
    package var isCutOff = false

    /// A description of these properties.
    package init(video: VideoFormat?, hasAudio: Bool, isLive: Bool, duration: Duration?) {
        self.video = video
        self.hasAudio = hasAudio
        self.isLive = isLive
        self.duration = duration
    }
}
