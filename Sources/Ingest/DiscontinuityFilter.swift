// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Joins the parts of a stream whose clock jumps by design, such as MPEG-TS files appended to each
/// other. All tracks are moved together, so that audio and video stay together across the jump.
///
/// The track that comes first behind a seam finds the correction: its packet follows its last one by one more step.
/// The others keep the old correction for what they still have from before the seam, and take the new one with the
/// first packet that it suits better.
struct DiscontinuityFilter: Hashable {
    /// A step longer than this is a jump, as in the ffmpeg program's `-dts_delta_threshold`.
    static let threshold = Duration.seconds(10)
    /// A step further back than this is a jump, because decoding times only grow; as in ffmpeg's `ts_discontinuity_process`.
    static let tolerance = Duration.milliseconds(100)

    /// One track's state, in nanoseconds.
    private struct Track: Hashable {
        /// The correction that its last packet got.
        var correction: Int64
        /// The corrected time of its last packet.
        var last: Int64
        /// Its last step forward that was no jump.
        var step: Int64 = 0
    }

    /// The newest correction, in nanoseconds.
    private var correction: Int64 = 0
    private var tracks: [Int: Track] = [:]

    /// By how much a packet of `stream` with this dts is moved, all in ticks of `base`.
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

    /// Forgets everything: the stream is read from its start again.
    mutating func reset() { self = DiscontinuityFilter() }
}
