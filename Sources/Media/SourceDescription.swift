// SPDX-License-Identifier: Apache-2.0

/// What relay found out about a source when it opened it.
package struct SourceDescription: Sendable {
    /// The video format of a program of the source's own size: display size after rotation (made even), nominal frame
    /// rate, pixel aspect ratio, color. Nil if the source has no video.
    package var video: VideoFormat?
    /// Whether the source has audio.
    package var hasAudio: Bool
    /// Whether media arrives at its own pace and must be read as it arrives.
    package var isLive: Bool
    /// Duration of the source, if it is known.
    package var duration: Duration?
    /// Whether a file ends before the data that its own tables name, as a partly copied file does.
    package var isCutOff = false

    package init(video: VideoFormat?, hasAudio: Bool, isLive: Bool, duration: Duration?) {
        self.video = video
        self.hasAudio = hasAudio
        self.isLive = isLive
        self.duration = duration
    }
}
