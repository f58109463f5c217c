// SPDX-License-Identifier: Apache-2.0

/// Estimates how long the current frame of a stream lasts: as long as its packet says, but no longer than the frames
/// before it.
///
/// Packets come in decoding order. No frame rate is needed, so a variable one needs no special case. An estimate that
/// is too long delays packets that are spread over the frame; one that is too short only sends them earlier.
package struct FrameSpacing: Sendable {
    /// Limit for a frame's duration, in nanoseconds, so that pacing never delays a packet longer.
    private static let longest: Int64 = 1_000_000_000
    /// The same limit for a sender with a variable rate, whose next frame may come at any time. A longer frame is sent
    /// in less than its time, and delays the frame after it by at most one frame of 25 per second.
    private static let longestUnsteady: Int64 = 100_000_000

    /// Duration of the newest frame in nanoseconds; 0 before the first.
    package private(set) var interval: Int64 = 0
    private var last: Int64?
    private var steps = RecentSteps()

    /// Starts without a frame.
    package init() {}

    /// Records the next frame.
    package mutating func note(_ frame: EncodedPacket) {
        if let last, frame.dtsNanoseconds > last { steps.append(frame.dtsNanoseconds - last) }
        last = frame.dtsNanoseconds
        let stated = frame.timeBase.rescale(frame.duration, to: .nanoseconds)
        let lengths = [stated, steps.shortest ?? 0].filter { $0 > 0 }
        let bound = frame.description.hasSteadyRate ? Self.longest : Self.longestUnsteady
        interval = min(lengths.min() ?? 0, bound)
    }
}

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
