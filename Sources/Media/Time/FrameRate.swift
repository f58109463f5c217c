// SPDX-License-Identifier: Apache-2.0

/// A constant frame rate as an exact fraction, such as 30000/1001.
package struct FrameRate: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Number of frames in ``denominator`` seconds; at least 1.
    package let numerator: Int32
    /// The number of seconds in which ``numerator`` frames are shown; at least 1.
    package let denominator: Int32

    /// `numerator / denominator` frames per second, reduced to lowest terms. Both must be positive.
    package init(_ numerator: Int32, _ denominator: Int32 = 1) {
        precondition(numerator > 0 && denominator > 0, "a frame rate is a positive fraction")
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        self.numerator = numerator / a
        self.denominator = denominator / a
    }

    /// The time base in which one frame lasts one tick.
    package var timeBase: TimeBase { TimeBase(denominator, numerator) }

    /// Frames per second as a floating-point number, which may be rounded.
    package var value: Double { Double(numerator) / Double(denominator) }

    /// The smallest number of frames that last at least `duration`.
    package func frames(atLeast duration: Duration) -> Int64 {
        TimeBase.nanoseconds.rescale(duration.inNanoseconds, to: timeBase, rounding: .up)
    }

    package var description: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }
}

/// Finds the constant frame rate that fits a stream best.
package enum NominalRate {
    /// The rates that are used in broadcasting and on the web.
    package static let standard: [FrameRate] = [
        FrameRate(5), FrameRate(10), FrameRate(12), FrameRate(25, 2), FrameRate(15000, 1001), FrameRate(15),
        FrameRate(20), FrameRate(24000, 1001), FrameRate(24), FrameRate(25), FrameRate(30000, 1001), FrameRate(30),
        FrameRate(48000, 1001), FrameRate(48), FrameRate(50), FrameRate(60000, 1001), FrameRate(60), FrameRate(100),
        FrameRate(120_000, 1001), FrameRate(120),
    ]
    package static let fallback = FrameRate(30)
    package static let highest = FrameRate(120)

    /// The standard rate within 0.1 % of `average`, or else the standard rate within 0.1 % of `base`. If neither is
    /// that near to a standard rate, the result is `base` if `base` is between 1 and 120, otherwise 120 if `average` is
    /// higher than 120, and otherwise 30.
    package static func of(average: FrameRate?, base: FrameRate?) -> FrameRate {
        if let average, let snapped = nearestStandard(to: average) { return snapped }
        if let base, let snapped = nearestStandard(to: base) { return snapped }
        if let base, isAtMost(base, highest), isAtMost(FrameRate(1), base) { return base }
        if let average, !isAtMost(average, highest) { return highest }
        return fallback
    }

    private static func nearestStandard(to rate: FrameRate) -> FrameRate? {
        // The nearest standard rate is used, because an average between 23.976 and 24 is within 0.1 % of both.
        let nearest = standard.min { difference($0, rate) < difference($1, rate) }
        return nearest.flatMap { difference($0, rate) <= 1_000_000 ? $0 : nil }
    }

    /// The difference relative to the standard rate, in parts per billion.
    private static func difference(_ standard: FrameRate, _ rate: FrameRate) -> Int64 {
        let left = Int128(rate.numerator) * Int128(standard.denominator)
        let right = Int128(standard.numerator) * Int128(rate.denominator)
        return Int64(clamping: (left - right).magnitude * 1_000_000_000 / right.magnitude)
    }

    private static func isAtMost(_ a: FrameRate, _ b: FrameRate) -> Bool {
        Int64(a.numerator) * Int64(b.denominator) <= Int64(b.numerator) * Int64(a.denominator)
    }
}
