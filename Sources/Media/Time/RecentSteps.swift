// SPDX-License-Identifier: Apache-2.0

/// The last few intervals between a track's packets. The shortest is the duration of a packet that does not declare
/// one: an interval across a gap or a still is longer than the frames after it.
package struct RecentSteps: Sendable {
    /// How many intervals are kept: a slower rate counts after that many frames, a faster one at once.
    private static let count = 3

    private var steps: [Int64] = []

    /// Starts without an interval.
    package init() {}

    /// The shortest of the last intervals, in the ticks of the caller; nil before the first.
    package var shortest: Int64? { steps.min() }

    /// Adds the next interval, which must be positive.
    package mutating func append(_ step: Int64) { steps = steps.suffix(Self.count - 1) + [step] }
}
