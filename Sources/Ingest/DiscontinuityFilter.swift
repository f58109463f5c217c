// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import SourceClock

/// Joins the parts of a stream whose timestamps jump by design, such as MPEG-TS files that were appended to each other.
/// All tracks are moved together, so that audio and video stay in sync across the jump.
///
/// The first track that has a packet after the jump determines the correction: that packet is placed after the track's
/// last packet, at the distance that the track's packets had before the jump. Packets from before the jump can still
/// arrive on the other tracks. So for each packet of another track, the filter uses either the old or the new
/// correction, whichever gives the time closer to the expected time.
///
/// If a track's packets return to its ``LeftLine``, the jump was a wrong timestamp, and the tracks get their former
/// correction back.
struct DiscontinuityFilter: Hashable {
    /// If a track's time steps forward by more than this, the step is a jump (the same limit as ffmpeg's
    /// `-dts_delta_threshold`).
    static let threshold = Duration.seconds(10)
    /// If a track's time steps back by more than this, the step is a jump, because decoding times normally only
    /// increase (as in ffmpeg's `ts_discontinuity_process`).
    static let tolerance = Duration.milliseconds(100)

    /// The state of one track.
    private struct Track: Hashable {
        /// The correction that was applied to the track's last packet.
        var correction: Duration
        /// The corrected time of the track's last packet.
        var last: Timestamp
        /// The distance of the track's last two packets; a jump, or a step back, is not counted. A wrong timestamp can
        /// at most double it. It is 0 until a second packet has come.
        var step = Duration.zero
        /// Where the track continues if its last leap was a wrong timestamp.
        var line: LeftLine?
    }

    /// The correction for the newest jump of any track.
    private var correction = Duration.zero
    private var tracks: [Int: Track] = [:]

    /// Returns the offset to add to the times of a packet of `stream` with the decoding time `dts`, all in ticks of
    /// `base`.
    mutating func shift(dts: Int64, stream: Int, base: TimeBase) -> Int64 {
        let now = Timestamp(dts, in: base)
        guard var track = tracks[stream] else {
            tracks[stream] = Track(correction: correction, last: now + correction)
            return base.ticks(correction)
        }
        let expected = track.last + track.step
        let leap = now + track.correction - expected
        if let line = track.line, line.fits(now, leap: leap) {
            takeBack(track.correction, for: line.shift)
            (track.correction, track.line) = (line.shift, nil)
        } else {
            follow(now, &track, expected: expected)
        }
        track.last = now + track.correction
        tracks[stream] = track
        return base.ticks(track.correction)
    }

    /// Finds the correction of a packet at `now`, and closes a jump in front of it.
    private mutating func follow(_ now: Timestamp, _ track: inout Track, expected: Timestamp) {
        let (former, duration) = (track.correction, track.step)
        track.line = track.line?.passed
        let best = [track.correction, correction].min {
            (now + $0 - expected).magnitude < (now + $1 - expected).magnitude
        }
        track.correction = best ?? correction
        let step = now + track.correction - track.last
        // If a track's second packet steps back, its first timestamp may be wrong as well as the second one.
        let isUnsure = duration == .zero && step >= .zero - Self.threshold
        if step > Self.threshold || step < .zero - Self.tolerance && !isUnsure {
            correction = expected - now
            track.correction = correction
        } else if step > .zero {
            track.step = duration > .zero ? min(step, duration * 2) : step
        }
        if track.correction != former || (now + former - expected).magnitude > Self.tolerance / 2 {
            track.line = LeftLine(shift: former, expected: expected, duration: duration)
        }
    }

    /// Replaces the correction `wrong` of all tracks by `former`, because its jump was a wrong timestamp.
    private mutating func takeBack(_ wrong: Duration, for former: Duration) {
        guard wrong != former else { return }
        if correction == wrong { correction = former }
        for (stream, track) in tracks where track.correction == wrong {
            tracks[stream]?.correction = former
            tracks[stream]?.last = track.last + (former - wrong)
        }
    }

    /// Resets all corrections, because the stream is read from its start again.
    mutating func reset() { self = DiscontinuityFilter() }
}
