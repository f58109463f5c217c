// SPDX-License-Identifier: Apache-2.0

package import Program

/// One of several sources of a program, with its own inputs.
package struct PartStatus: Sendable, Codable {
    /// The source's name.
    package var name: String
    /// Whether the source is visible.
    package var isOnAir: Bool
    /// Which of the source's inputs is shown.
    package var selection: SelectionStatus?
    /// The number of frames for which the source's previous frame was repeated.
    package var framesRepeated: Int
    /// The number of these repetitions that happened because the frame that was due had not arrived.
    package var framesLate: Int
    /// The number of frames that were never shown.
    package var framesDropped: Int
    /// The peak of each audio channel of the source, whether it is audible or not, in dBFS; empty before any audio.
    package var levels: [Double]

    /// A source with these values; `feed` is the status of its feed.
    package init(
        name: String, isOnAir: Bool, selection: SelectionStatus?, feed: FeedStatus = FeedStatus(), levels: [Double] = []
    ) {
        (self.name, self.isOnAir, self.selection, self.levels) = (name, isOnAir, selection, levels)
        (framesRepeated, framesLate, framesDropped) = (feed.framesRepeated, feed.framesLate, feed.framesDropped)
    }
}
