// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Joins the parts of a stream whose timestamps jump by design, such as MPEG-TS files that were appended to each other.
/// All tracks are moved together, so that audio and video stay in sync across the jump.
///
/// The first track that has a packet after the jump determines the correction: that packet is placed after the track's
/// last packet, at the distance that the track's packets had before the jump. Packets from before the jump can still
/// arrive on the other tracks. So for each packet of another track, the filter uses either the old or the new
/// correction, whichever gives the time closer to the expected time.
struct DiscontinuityFilter: Hashable {
    /// If a track's time steps forward by more than this, the step is a jump (the same limit as ffmpeg's
    /// `-dts_delta_threshold`).
    static let threshold = Duration.seconds(10)
    /// If a track's time steps back by more than this, the step is a jump, because decoding times normally only
    /// increase (as in ffmpeg's `ts_discontinuity_process`).
    static let tolerance = Duration.milliseconds(100)

    /// The state of one track; times are in nanoseconds.
    private struct Track: Hashable {
        /// The correction that was applied to the track's last packet.
        var correction: Int64
        /// The corrected time of the track's last packet.
        var last: Int64
        /// The distance of the track's last two packets; a jump, or a step back, is not counted.
        var step: Int64 = 0
    }

    /// The correction for the newest jump of any track, in nanoseconds.
    private var correction: Int64 = 0
    private var tracks: [Int: Track] = [:]

    /// Returns the offset to add to the times of a packet of `stream` with the decoding time `dts`, all in ticks of
    /// `base`.
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
