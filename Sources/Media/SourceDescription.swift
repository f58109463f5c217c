// SPDX-License-Identifier: Apache-2.0

/// What a source turned out to be when it was opened.
public struct SourceDescription: Sendable {
    /// The video as a program of its own shape would carry it: display size after rotation (made even), nominal
    /// frame rate, pixel aspect, color. Nil when the source has no video.
    public var video: VideoFormat?
    /// Whether the source has audio.
    public var hasAudio: Bool
    /// Whether media comes at its own pace and must be taken when it comes.
    public var isLive: Bool
    /// How long the source lasts, if it says so.
    public var duration: Duration?
    /// Whether a file ends before what its own tables name, as one does that was copied in part.
    public var isCutOff = false

    /// A description of these properties.
    public init(video: VideoFormat?, hasAudio: Bool, isLive: Bool, duration: Duration?) {
        self.video = video
        self.hasAudio = hasAudio
        self.isLive = isLive
        self.duration = duration
    }
}
