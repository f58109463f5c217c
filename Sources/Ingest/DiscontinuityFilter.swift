// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Joins the parts of a stream whose clock jumps by design, such as MPEG-TS files appended to each other. All tracks
/// are moved together, so that audio and video stay in sync across the jump.
///
/// The first track to have a packet behind a seam determines the correction: that packet is placed one step behind the
/// track's last packet. The other tracks keep the old correction for packets from before the seam, and take the new one
/// with the first packet that it suits better.
struct DiscontinuityFilter: Hashable {
    /// A step forward by more than this is a jump, as in the ffmpeg program's `-dts_delta_threshold`.
    static let threshold = Duration.seconds(10)
    /// A step back by more than this is a jump, because decoding times only grow; as in ffmpeg's
    /// `ts_discontinuity_process`.
    static let tolerance = Duration.milliseconds(100)

    /// One track's state, in nanoseconds.
    private struct Track: Hashable {
        /// The correction that was applied to the track's last packet.
        var correction: Int64
        /// The corrected time of the track's last packet.
        var last: Int64
        /// The track's last step forward that was no jump.
        var step: Int64 = 0
    }

    /// The newest correction, in nanoseconds.
    private var correction: Int64 = 0
    private var tracks: [Int: Track] = [:]

    /// The correction for a packet of `stream` with this dts, all in ticks of `base`.
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
