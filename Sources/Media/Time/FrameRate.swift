// SPDX-License-Identifier: Apache-2.0

/// A constant frame rate as an exact fraction, such as 30000/1001.
package struct FrameRate: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Number of frames in ``denominator`` seconds; at least 1.
    package let numerator: Int32
    /// The number of seconds in which ``numerator`` frames are shown; at least 1.
    package let denominator: Int32

    /// `numerator / denominator` frames per second, reduced. Both must be positive.
    package init(_ numerator: Int32, _ denominator: Int32 = 1) {
        precondition(numerator > 0 && denominator > 0, "a frame rate is a positive fraction")
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        self.numerator = numerator / a
        self.denominator = denominator / a
    }

    /// The time base in which one frame lasts one tick.
    package var timeBase: TimeBase { TimeBase(denominator, numerator) }

    /// Frames per second, for display only.
    package var value: Double { Double(numerator) / Double(denominator) }

    /// The smallest number of frames that last at least `duration`.
    package func frames(atLeast duration: Duration) -> Int64 {
        TimeBase.nanoseconds.rescale(duration.inNanoseconds, to: timeBase, rounding: .up)
    }

    package var description: String {
        denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)"
    }
}
