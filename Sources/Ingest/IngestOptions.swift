// SPDX-License-Identifier: Apache-2.0

package import Media
package import SourceClock

/// How an input is opened.
package struct IngestOptions: Sendable, Hashable {
    /// Whether a file starts again at its end, without limit.
    package var loop: Bool
    /// The size requested from the test pattern and from devices, in pixels; nil means their default.
    package var size: FrameSize?
    /// The frame rate requested from the test pattern and from devices; nil means their default.
    package var frameRate: FrameRate?
    /// Where playback of a file begins: at the frame nearest to this time, counted from the file's first frame.
    package var start = Duration.zero
    /// Whether the input must be a file that contains its media itself. A file that only names other files or
    /// addresses, such as a playlist, is then refused.
    package var isSelfContained = false
    /// By how much a live source is shown later than its clock requires; 0 or more.
    package var delay = Duration.zero
    /// The buffer that a live source shares with other live sources; not used if the source's address configures its
    /// own latency.
    package var commonBuffer: CommonBuffer?

    /// The kind of track that the input must have. An input that listens waits for a sender that has such a track.
    package var needs: TrackKind?

    /// Creates options with these values; all other options have their defaults.
    package init(loop: Bool = false, size: FrameSize? = nil, frameRate: FrameRate? = nil) {
        self.loop = loop
        self.size = size
        self.frameRate = frameRate
    }
}
