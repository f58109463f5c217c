// SPDX-License-Identifier: Apache-2.0

/// How long the present frame of a stream lasts: what its packet says, but no longer than the frames before it took.
///
/// Packets come in decoding order. No frame rate is needed, so a variable one is no special case. A length that is too long
/// holds up what is spread over it; one that is too short only sends sooner.
package struct FrameSpacing: Sendable {
    /// The longest that a frame counts for, in nanoseconds: what spreads a frame over its time must not hold it longer.
    private static let longest: Int64 = 1_000_000_000
    /// The same of a sender whose next frame may come at any time. Longer frames are sent in less than their time, and
    /// the frame behind them is never late by more than one of 25 a second.
    private static let longestUnsteady: Int64 = 100_000_000

    /// Nanoseconds that the newest frame lasts; 0 before the first.
    package private(set) var interval: Int64 = 0
    private var last: Int64?
    private var steps = RecentSteps()

    /// No frame came yet.
    package init() {}

    /// Takes the next frame.
    package mutating func note(_ frame: EncodedPacket) {
        if let last, frame.dtsNanoseconds > last { steps.append(frame.dtsNanoseconds - last) }
        last = frame.dtsNanoseconds
        let stated = frame.timeBase.rescale(frame.duration, to: .nanoseconds)
        let lengths = [stated, steps.shortest ?? 0].filter { $0 > 0 }
        let bound = frame.description.hasSteadyRate ? Self.longest : Self.longestUnsteady
        interval = min(lengths.min() ?? 0, bound)
    }
}
