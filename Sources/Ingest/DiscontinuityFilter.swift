// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Joins the parts of a stream whose clock jumps by design, such as MPEG-TS files appended to each other: pure
/// arithmetic. All tracks are moved together, so that sound and picture stay together across the jump.
struct DiscontinuityFilter: Hashable {
    /// A step longer than this is a jump, as in the ffmpeg program's `-dts_delta_threshold`.
    static let threshold = Duration.seconds(10)

    private var correction: Int64 = 0
    private var last: [Int: Int64] = [:]

    /// By how much a packet of `stream` with this dts is moved, all in ticks of `base`.
    mutating func shift(dts: Int64, stream: Int, base: TimeBase) -> Int64 {
        let now = base.rescale(dts, to: .nanoseconds)
        if let previous = last[stream] {
            let step = now &+ correction &- previous
            if step.magnitude > Self.threshold.inNanoseconds.magnitude { correction &-= step }
        }
        last[stream] = now &+ correction
        return TimeBase.nanoseconds.rescale(correction, to: base)
    }

    /// Forgets everything: the stream is read from its start again.
    mutating func reset() { self = DiscontinuityFilter() }
}
