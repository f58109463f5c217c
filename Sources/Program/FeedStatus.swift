// SPDX-License-Identifier: Apache-2.0

/// The status of one source's feed as operators see it.
package struct FeedStatus: Sendable, Codable {
    /// The number of frames that the source delivered.
    package var framesIn = 0
    /// The number of delivered frames that were never shown.
    package var framesDropped = 0
    /// The number of program frames for which the source's previous frame was repeated.
    package var framesRepeated = 0
    /// How many frames were repeated because the frame that was due had not arrived. Frames that are repeated because
    /// the source's frame rate is lower than the program's do not count.
    package var framesLate = 0
    /// The number of missing audio samples that silence replaced, even if the source was not audible.
    package var silentSamples = 0
    /// The number of audio samples that were dropped, because they arrived too late or overlapped with others.
    package var cutSamples = 0
    /// How often a live source's audio was moved at once, because the mapping of the source's times to program time
    /// made a step.
    package var resyncs = 0

    /// Creates the status of a source that has delivered nothing yet.
    package init() {}
}
