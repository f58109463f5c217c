// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Media

/// The moments at which the local time of day is a multiple of a period, for example every full and half hour.
package struct WallClockGrid: Sendable {
    /// The local time's offset from UTC at a given moment, in seconds.
    package typealias Offset = @Sendable (UTCTime) -> Int

    /// The period in milliseconds, which divides a day into equal parts.
    private let period: Int64
    private let offset: Offset

    private static let day: Int64 = 86_400_000

    /// Creates a grid of `period`, which must be a whole number of milliseconds and divide a day into equal parts; nil
    /// if it does not.
    package init?(period: Duration, offset: @escaping Offset = { _ in 0 }) {
        let (milliseconds, rest) = period.inNanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        guard milliseconds > 0, rest == 0, Self.day % milliseconds == 0 else { return nil }
        self.period = milliseconds
        self.offset = offset
    }

    private func local(_ time: Int64) -> Int64 { time + Int64(offset(UTCTime(milliseconds: time))) * 1000 }

    /// Returns the first moment after `time` at which local time reaches a multiple of the period. If the clocks are
    /// set forward past a multiple, the moment of the clock change counts as the multiple. If an hour occurs twice, its
    /// multiples also occur twice.
    package func next(after time: UTCTime) -> UTCTime {
        var now = time.milliseconds
        // A time zone changes its clocks a few times a year, never several times a day, so three rounds are more than
        // enough.
        for _ in 0..<3 {
            let local = local(now)
            let candidate = now + period - (local - local.flooredDivision(by: period) * period)
            let change = change(from: now, to: candidate)
            guard let change else { return UTCTime(milliseconds: candidate) }
            if self.local(change).flooredDivision(by: period) != local.flooredDivision(by: period) {
                return UTCTime(milliseconds: change)
            }
            now = change
        }
        return UTCTime(milliseconds: now + period)
    }

    /// Returns the moment between `begin` and `end` at which the offset from UTC becomes the offset that is valid at
    /// `end`; nil if the offset does not change.
    private func change(from begin: Int64, to end: Int64) -> Int64? {
        let after = local(end) - end
        guard local(begin) - begin != after else { return nil }
        var (low, high) = (begin, end)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if local(middle) - middle == after { high = middle } else { low = middle }
        }
        return high
    }
}
