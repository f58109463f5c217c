// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// Corrects the dates of files that a clock which was ahead has dated in the future.
enum SegmentAges {
    /// At most this much of the time between two such files is believed, in milliseconds: a clock that was set between
    /// them must not make the earlier file look years older.
    private static let longestStep: Int64 = 600_000

    /// Returns `segments`, oldest first, with corrected dates at `now`. The last of a series of files dated in the
    /// future ended at the latest when the next file with a plausible date did, or just now if there is no such file.
    /// The earlier ones keep their distances to it, within bounds.
    static func believed(_ segments: [StoredSegment], at now: UTCTime) -> [StoredSegment] {
        let horizon = now.milliseconds + ClockTrust.tolerance
        guard segments.contains(where: { $0.ended.milliseconds > horizon }) else { return segments }
        let floors = floors(segments, horizon)
        var (dated, bound) = (segments, now.milliseconds)
        // The own date of the later file in the future, and the date that it was given.
        var later: (own: Int64, given: Int64)?
        for index in segments.indices.reversed() {
            let own = segments[index].ended.milliseconds
            if own <= horizon {
                // A date before those of older files comes from a clock that was behind, and is no bound.
                if own >= floors[index] { (bound, later) = (min(own, now.milliseconds), nil) }
                continue
            }
            let step = later.map { min(max(0, $0.own - own), longestStep) } ?? 0
            let given = (later?.given ?? bound) - step
            dated[index].ended = UTCTime(milliseconds: given)
            later = (own, given)
        }
        return dated
    }

    /// Returns for each file the newest plausible date among the older ones.
    private static func floors(_ segments: [StoredSegment], _ horizon: Int64) -> [Int64] {
        var newest = Int64.min
        return segments.map { segment in
            defer { if segment.ended.milliseconds <= horizon { newest = max(newest, segment.ended.milliseconds) } }
            return newest
        }
    }
}
