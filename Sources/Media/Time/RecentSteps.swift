// SPDX-License-Identifier: Apache-2.0

/// The last few distances between the packets of a track. The shortest of them says how long a packet lasts that does not
/// say so itself: a distance that was measured over a gap, or over a still, is not the length of the frames behind it.
package struct RecentSteps: Sendable {
    /// How many are remembered: a slower rate is believed after so many frames, a faster one at once.
    private static let count = 3

    private var steps: [Int64] = []

    /// Nothing was measured yet.
    package init() {}

    /// The shortest of the last distances, in the ticks in which they were measured; nil before the first.
    package var shortest: Int64? { steps.min() }

    /// Takes the next distance, which is more than 0.
    package mutating func append(_ step: Int64) { steps = steps.suffix(Self.count - 1) + [step] }
}
