// SPDX-License-Identifier: Apache-2.0

/// The status of one source's feed for operators.
package struct FeedStatus: Sendable, Codable {
    /// Frames delivered.
    package var framesIn = 0
    /// Frames that were never shown.
    package var framesDropped = 0
    /// Program frames for which the previous frame was shown again.
    package var framesRepeated = 0
    /// Repeated frames for which the frame that was due had not arrived. A repetition due to the frame rates does not
    /// count.
    package var framesLate = 0
    /// Samples of silence that were inserted where audio was missing.
    package var silentSamples = 0
    /// Samples that came too late or overlapped.
    package var cutSamples = 0
    /// How many times a live source's audio was moved at once, because its time map jumped.
    package var resyncs = 0

    /// The status of a source that has delivered nothing yet.
    package init() {}
}
