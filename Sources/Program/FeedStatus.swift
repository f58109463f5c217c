// SPDX-License-Identifier: Apache-2.0

/// What an operator sees of one source's way into the program.
package struct FeedStatus: Sendable, Codable {
    /// Frames delivered.
    package var framesIn = 0
    /// Frames that were never shown.
    package var framesDropped = 0
    /// Program frames for which the frame before was shown again.
    package var framesRepeated = 0
    /// Those of them for which the frame that was due had not come: a repetition that is a matter of frame rates is none.
    package var framesLate = 0
    /// Samples of silence put where audio was missing.
    package var silentSamples = 0
    /// Samples that came too late or overlapped.
    package var cutSamples = 0
    /// Times a live source's audio was moved at once, because its map was.
    package var resyncs = 0

    /// Nothing delivered yet.
    package init() {}
}
