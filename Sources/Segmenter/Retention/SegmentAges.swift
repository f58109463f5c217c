// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// Corrects the dates of files that are dated in the future, because the clock was ahead.
enum SegmentAges {
    /// The maximum time between two consecutive files in a series of files dated in the future, in milliseconds; a
    /// longer time counts as this time. If the clock was set between the two files, the earlier file must not look
    /// years older.
    private static let longestStep: Int64 = 600_000

    /// Returns `segments`, oldest first, with corrected dates at `now`. The last file in a series of files dated in the
    /// future is assumed to have ended at the same time as the next file with a plausible date, or now if there is no
    /// such file. The earlier files of the series keep their distances to the last one, up to ``longestStep`` from file
    /// to file.
    static func believed(_ segments: [StoredSegment], at now: UTCTime) -> [StoredSegment] {
        let horizon = now.milliseconds + ClockTrust.tolerance
        guard segments.contains(where: { $0.ended.milliseconds > horizon }) else { return segments }
        let floors = floors(segments, horizon)
        var (dated, bound) = (segments, now.milliseconds)
        // The original date of the following file of the series, and its corrected date.
        var later: (own: Int64, given: Int64)?
        for index in segments.indices.reversed() {
            let own = segments[index].ended.milliseconds
            if own <= horizon {
                // A date that is earlier than the dates of older files comes from a clock that was behind, so this date
                // is not used as a bound.
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

    /// Returns, for each file, the newest plausible date among the files before it.
    private static func floors(_ segments: [StoredSegment], _ horizon: Int64) -> [Int64] {
        var newest = Int64.min
        return segments.map { segment in
            defer { if segment.ended.milliseconds <= horizon { newest = max(newest, segment.ended.milliseconds) } }
            return newest
        }
    }
}
