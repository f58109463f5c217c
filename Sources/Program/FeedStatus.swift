// SPDX-License-Identifier: Apache-2.0

/// The status of one source's feed for operators.
package struct FeedStatus: Sendable, Codable {
    /// Number of frames that were delivered.
    package var framesIn = 0
    /// Number of frames that were never shown.
    package var framesDropped = 0
    /// Number of program frames for which the previous frame was repeated.
    package var framesRepeated = 0
    /// Number of repetitions that happened because the frame that was due had not arrived. A repetition that the frame
    /// rates cause does not count.
    package var framesLate = 0
    /// Number of samples of silence that were inserted where audio was missing.
    package var silentSamples = 0
    /// Number of samples that were dropped because they arrived too late or overlapped.
    package var cutSamples = 0
    /// How many times a live source's audio was moved at once, because the source's clock mapping made a step.
    package var resyncs = 0

    /// The status of a source that has delivered nothing yet.
    package init() {}
}
