// SPDX-License-Identifier: Apache-2.0

/// The length of one tick of a media clock, in seconds, as an exact fraction.
///
/// All media times are integer numbers of ticks. An output converts each time once, when it writes the packet. It uses
/// ``rescale(_:to:rounding:)``, which is exact for every 64-bit number of ticks.
package struct TimeBase: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The numerator of the number of seconds per tick; at least 1.
    package let numerator: Int32
    /// The denominator of the number of seconds per tick; at least 1.
    package let denominator: Int32

    /// A time base of `numerator / denominator` seconds. Both must be positive.
    package init(_ numerator: Int32, _ denominator: Int32) {
        precondition(numerator > 0 && denominator > 0, "a time base is a positive fraction")
        self.numerator = numerator
        self.denominator = denominator
    }

    /// Milliseconds, the clock of RTMP and FLV.
    package static let milliseconds = TimeBase(1, 1000)
    /// Nanoseconds, the clock of ``MonotonicClock``.
    package static let nanoseconds = TimeBase(1, 1_000_000_000)
    /// The 90 kHz clock of MPEG-TS (ISO/IEC 13818-1, 2.4.3.7).
    package static let mpegTS = TimeBase(1, 90_000)

    /// How ``rescale(_:to:rounding:)`` rounds a result that is not a whole tick.
    package enum Rounding: Sendable {
        /// Toward negative infinity.
        case down
        /// Toward positive infinity.
        case up
        /// To the nearest tick; halves are rounded up.
        case nearest
    }

    /// Converts `ticks` of this time base to ticks of `other`.
    ///
    /// The product is computed in 128 bits, so that it cannot overflow before the division. A result that does not fit
    /// in 64 bits is clamped.
    package func rescale(_ ticks: Int64, to other: TimeBase, rounding: Rounding = .nearest) -> Int64 {
        if self == other { return ticks }
        let product = Int128(ticks) * Int128(numerator) * Int128(other.denominator)
        let divisor = Int128(denominator) * Int128(other.numerator)
        return Int64(clamping: Self.divide(product, by: divisor, rounding: rounding))
    }

    private static func divide(_ dividend: Int128, by divisor: Int128, rounding: Rounding) -> Int128 {
        let shifted =
            switch rounding {
            case .down: dividend
            case .up: dividend + divisor - 1
            case .nearest: dividend + divisor / 2
            }
        let (quotient, remainder) = shifted.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// Returns `ticks`, or nil if they are more than 100 years from 0. Files may contain any 64-bit number, and sums
    /// and differences of such numbers overflow. The limit is a century, because timestamps of the devices alsa and
    /// pulse count from 1970 (libavdevice/alsa_dec.c). Times above 2^61 ticks are rejected, too, so that the difference
    /// of two accepted times fits in 64 bits.
    package func believed(_ ticks: Int64?) -> Int64? {
        guard let ticks, ticks.magnitude <= 1 << 61 else { return nil }
        return rescale(ticks, to: TimeBase(1, 1)).magnitude <= 100 * 366 * 86_400 ? ticks : nil
    }

    /// `duration` in ticks of this time base, rounded to the nearest tick.
    package func ticks(_ duration: Duration) -> Int64 { TimeBase.nanoseconds.rescale(duration.inNanoseconds, to: self) }

    /// The duration of `ticks`, to the nanosecond. Use it for display, deadlines and logs, but never to compute media
    /// times.
    package func duration(_ ticks: Int64) -> Duration { .nanoseconds(rescale(ticks, to: .nanoseconds)) }

    package var description: String { "\(numerator)/\(denominator)" }
}

extension Duration {
    /// The duration in nanoseconds, rounded toward zero and clamped to 64 bits (292 years).
    @inlinable
    package var inNanoseconds: Int64 {
        // Up to 9.2 s, a division in 64 bits gives the same result faster. Each sum of a moment and a duration needs it.
        if let attoseconds = Int64(exactly: attoseconds) { return attoseconds / 1_000_000_000 }
        return Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The duration in whole milliseconds, rounded toward zero.
    package var inMilliseconds: Int64 { inNanoseconds / 1_000_000 }

    /// The duration in seconds, for display and for libraries that take a floating-point number.
    package var inSeconds: Double { Double(inNanoseconds) / 1e9 }
}
