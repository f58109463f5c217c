// SPDX-License-Identifier: Apache-2.0

/// Estimates how long the current frame of a stream lasts: as long as its packet says, but no longer than the shortest
/// of the last few frames.
///
/// Frames come in decoding order. The estimate needs no frame rate, so that it also works with a variable frame rate.
/// An output spreads the packets of a frame over this time. If the estimate is too long, packets are delayed; if it is
/// too short, packets are only sent earlier than necessary.
package struct FrameSpacing: Sendable {
    /// The longest estimate, in nanoseconds. Pacing therefore never delays a packet by more than this time.
    private static let longest: Int64 = 1_000_000_000
    /// The longest estimate for a sender with a variable frame rate, in nanoseconds. The next frame of such a sender
    /// may come at any time. Therefore the packets of a frame that lasts longer are still sent within this time, and
    /// delay the next frame by at most this time.
    private static let longestUnsteady: Int64 = 100_000_000

    /// The estimated duration of the newest frame in nanoseconds; 0 if there is nothing yet from which to estimate it.
    package private(set) var interval: Int64 = 0
    private var last: Int64?
    private var steps = RecentSteps()

    /// An estimator that has seen no frame.
    package init() {}

    /// Records the next frame, in decoding order, and updates ``interval``.
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
    /// How many intervals are kept. If the frame rate drops, ``shortest`` becomes longer only after this many frames;
    /// if the rate rises, ``shortest`` becomes shorter at once.
    private static let count = 3

    private var steps: [Int64] = []

    /// An empty list of intervals.
    package init() {}

    /// The shortest of the last intervals, in the caller's ticks; nil before the first interval.
    package var shortest: Int64? { steps.min() }

    /// Adds the next interval, which must be positive.
    package mutating func append(_ step: Int64) { steps = steps.suffix(Self.count - 1) + [step] }
}
