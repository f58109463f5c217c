// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How long the present frame of a stream lasts: what its packet says, or else as long as the one before it lasted.
///
/// Packets come in decoding order. No frame rate is needed, so a variable one is no special case.
struct FrameSpacing {
    /// The longest that a frame counts for, in nanoseconds: what spreads a frame over its time must not hold it longer.
    private static let longest: Int64 = 1_000_000_000

    /// Nanoseconds that the newest frame lasts; 0 before the first.
    private(set) var interval: Int64 = 0
    private var last: Int64?

    /// No frame came yet.
    init() {}

    /// Takes the next frame.
    mutating func note(_ frame: EncodedPacket) {
        let stated = frame.timeBase.rescale(frame.duration, to: .nanoseconds)
        let measured = last.map { frame.dtsNanoseconds - $0 } ?? 0
        last = frame.dtsNanoseconds
        interval = min(max(0, stated > 0 ? stated : measured), Self.longest)
    }
}
