// SPDX-License-Identifier: Apache-2.0

/// Estimates how long the current frame of a stream lasts: as long as its packet says, but no longer than the frames
/// before it.
///
/// Packets come in decoding order. No frame rate is needed, so a variable frame rate needs no special case. If an
/// estimate is too long, packets that are spread over the frame are delayed; if it is too short, they are only sent
/// earlier.
package struct FrameSpacing: Sendable {
    /// Limit for a frame's duration, in nanoseconds, so that pacing never delays a packet by more.
    private static let longest: Int64 = 1_000_000_000
    /// The same limit for a sender with a variable rate, whose next frame may come at any time. A frame that lasts
    /// longer is sent in this time. It delays the next frame by at most the duration of one frame at 25 frames per
    /// second.
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
