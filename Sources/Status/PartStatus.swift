// SPDX-License-Identifier: Apache-2.0

package import Program

/// One of several sources of a program, each of which has inputs of its own.
package struct PartStatus: Sendable, Codable {
    /// Its name.
    package var name: String
    /// Whether it is seen.
    package var isOnAir: Bool
    /// Which of its inputs it shows.
    package var selection: SelectionStatus?
    /// Frames for which the one before was shown again.
    package var framesRepeated: Int
    /// Those of them for which the frame that was due had not come.
    package var framesLate: Int
    /// Frames that were never shown.
    package var framesDropped: Int
    /// The peak of each channel of its audio, heard or not, in dBFS; none before any.
    package var levels: [Double]

    /// A source of these properties, whose frames became `feed`.
    package init(
        name: String, isOnAir: Bool, selection: SelectionStatus?, feed: FeedStatus = FeedStatus(), levels: [Double] = []
    ) {
        (self.name, self.isOnAir, self.selection, self.levels) = (name, isOnAir, selection, levels)
        (framesRepeated, framesLate, framesDropped) = (feed.framesRepeated, feed.framesLate, feed.framesDropped)
    }
}
