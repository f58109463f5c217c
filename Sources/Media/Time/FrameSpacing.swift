// SPDX-License-Identifier: Apache-2.0

/// Estimates how long the current frame of a stream lasts: as long as its packet says, but no longer than the shortest
/// of the last few frames.
///
/// Frames come in decoding order. The estimate needs no frame rate, so that it also works with a variable frame rate.
/// An output spreads the packets of a frame over this time. An estimate that is too long delays packets; one that is
/// too short only sends them earlier.
package struct FrameSpacing: Sendable {
    /// The longest estimate, in nanoseconds. Pacing therefore never delays a packet by more than that.
    private static let longest: Int64 = 1_000_000_000
    /// The longest estimate for a sender with a variable frame rate, in nanoseconds. Its next frame may come at any
    /// time. A frame that lasts longer is still sent within this time, and delays the next frame by at most the
    /// duration of one frame at 25 frames per second.
    private static let longestUnsteady: Int64 = 100_000_000

    /// Duration of the newest frame in nanoseconds; 0 before the first.
    package private(set) var interval: Int64 = 0
    private var last: Int64?
    private var steps = RecentSteps()

    /// An estimator that has seen no frame.
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

/// The last few intervals between a track's packets. The shortest of them serves as the duration of a packet that does
/// not declare one. A longer interval may come from a gap or a still image, after which frames are shorter again.
package struct RecentSteps: Sendable {
    /// How many intervals are kept. If the frame rate drops, the shortest interval follows after that many frames; if
    /// the rate rises, it follows at once.
    private static let count = 3

    private var steps: [Int64] = []

    /// An empty list of intervals.
    package init() {}

    /// The shortest of the last intervals, in the caller's ticks; nil before the first interval.
    package var shortest: Int64? { steps.min() }

    /// Adds the next interval, which must be positive.
    package mutating func append(_ step: Int64) { steps = steps.suffix(Self.count - 1) + [step] }
}
