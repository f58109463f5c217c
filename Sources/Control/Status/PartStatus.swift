// SPDX-License-Identifier: Apache-2.0

/// One of several sources of a program, each of which has inputs of its own.
package struct PartStatus: Sendable, Codable {
    /// Its name.
    package var name: String
    /// Whether it is seen.
    package var isOnAir: Bool
    /// Which of its inputs it shows.
    package var selection: SelectionStatus?
    /// The peak of each channel of its audio, heard or not, in dBFS; none before any.
    package var levels: [Double]

    /// A source of these properties.
    package init(name: String, isOnAir: Bool, selection: SelectionStatus?, levels: [Double]) {
        (self.name, self.isOnAir, self.selection, self.levels) = (name, isOnAir, selection, levels)
    }
}
