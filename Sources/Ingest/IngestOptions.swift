// SPDX-License-Identifier: Apache-2.0

package import Media
package import SourceClock

/// How an input is opened.
package struct IngestOptions: Sendable, Hashable {
    /// Whether a file starts again at its end, for ever.
    package var loop: Bool
    /// The size asked of the test pattern and of devices, width and height in pixels; nil for their own.
    package var size: FrameSize?
    /// The frame rate asked of the test pattern and of devices; nil for their own.
    package var frameRate: FrameRate?
    /// Where in a file it begins: at the frame nearest to this time, from its first frame on.
    package var start = Duration.zero
    /// How much later than its clock says a live source is shown; 0 or more.
    package var delay = Duration.zero
    /// What it shares with other live sources, unless its address asks for a latency of its own.
    package var commonBuffer: CommonBuffer?

    /// Options of these values.
    package init(loop: Bool = false, size: FrameSize? = nil, frameRate: FrameRate? = nil) {
        self.loop = loop
        self.size = size
        self.frameRate = frameRate
    }
}
