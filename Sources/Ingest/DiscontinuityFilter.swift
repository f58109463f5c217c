// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Joins the parts of a stream whose timestamps jump by design, such as MPEG-TS files that were appended to each other.
/// All tracks are moved together, so that audio and video stay in sync across the jump.
///
/// The correction is determined by the first track that has a packet after the jump: that packet is placed one step
/// after the track's last packet. For each packet, the other tracks use the old correction or the new one, whichever
/// gives a time closer to the expected time: packets from before the jump can still arrive.
struct DiscontinuityFilter: Hashable {
    /// A step forward by more than this is a jump, as in the ffmpeg program's `-dts_delta_threshold`.
    static let threshold = Duration.seconds(10)
    /// A step back by more than this is a jump, because decoding times only increase; as in ffmpeg's
    /// `ts_discontinuity_process`.
    static let tolerance = Duration.milliseconds(100)

    /// The state of one track; times are in nanoseconds.
    private struct Track: Hashable {
        /// The correction that was applied to the track's last packet.
        var correction: Int64
        /// The corrected time of the track's last packet.
        var last: Int64
        /// The track's last step forward that was not a jump.
        var step: Int64 = 0
    }

    /// The newest correction, in nanoseconds.
    private var correction: Int64 = 0
    private var tracks: [Int: Track] = [:]

    /// The correction for a packet of `stream` with the decoding time `dts`, all in ticks of `base`.
    mutating func shift(dts: Int64, stream: Int, base: TimeBase) -> Int64 {
        let now = base.rescale(dts, to: .nanoseconds)
        var track = tracks[stream] ?? Track(correction: correction, last: now &+ correction)
        let expected = track.last &+ track.step
        let best = [track.correction, correction].min {
            (now &+ $0 &- expected).magnitude < (now &+ $1 &- expected).magnitude
        }
        track.correction = best ?? correction
        let step = now &+ track.correction &- track.last
        if step > Self.threshold.inNanoseconds || step < -Self.tolerance.inNanoseconds {
            correction = expected &- now
            track.correction = correction
        } else if step > 0 {
            track.step = step
        }
        track.last = now &+ track.correction
        tracks[stream] = track
        return TimeBase.nanoseconds.rescale(track.correction, to: base)
    }

    /// Resets all corrections, because the stream is read from its start again.
    mutating func reset() { self = DiscontinuityFilter() }
}
