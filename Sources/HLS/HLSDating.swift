// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Converts program times to the dates in an HLS playlist.
///
/// A frame cannot arrive before it was captured, so the arrival of each frame gives a latest date for program time 0.
/// The earliest of these dates is used. The first frame alone would make all dates late, because it often waits: for
/// the codec of the other track, or in memory if the output joins a running program. The dates are final once a segment
/// is in the playlist, because the dates of segments must follow each other without jumps.
struct HLSDating {
    /// The date of program time 0, in nanoseconds since 1970; nil before the first frame.
    private var start: Int64?
    private var isFinal = false

    /// Whether a frame has arrived, so that there are dates.
    var hasBegun: Bool { start != nil }

    /// Records that the frame with presentation time `time` has arrived. `now` is the present time in microseconds
    /// since 1970; it is read only while the dates are not final.
    mutating func note(_ time: ProgramInstant, at now: @autoclosure () -> Int64) {
        guard !isFinal else { return }
        start = min(start ?? .max, now() * 1000 - time.nanoseconds)
    }

    /// Makes the dates final. Later frames do not change them.
    mutating func finish() { isFinal = true }

    /// Returns the date of program time `time`, in milliseconds since 1970.
    func date(of time: ProgramInstant) -> Int64 { ((start ?? 0) + time.nanoseconds) / 1_000_000 }
}
