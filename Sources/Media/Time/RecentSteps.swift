// SPDX-License-Identifier: Apache-2.0

/// The last few intervals between a track's packets. The shortest interval serves as the duration of a packet that does
/// not declare one: an interval over a gap or a still image is longer than the frames after it.
package struct RecentSteps: Sendable {
    /// How many intervals are kept. A lower frame rate therefore takes effect after that many frames, and a higher one
    /// at once.
    private static let count = 3

    private var steps: [Int64] = []

    /// Starts without an interval.
    package init() {}

    /// The shortest of the last intervals, in the caller's ticks; nil before the first interval.
    package var shortest: Int64? { steps.min() }

    /// Adds the next interval, which must be positive.
    package mutating func append(_ step: Int64) { steps = steps.suffix(Self.count - 1) + [step] }
}
