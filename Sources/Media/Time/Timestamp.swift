// SPDX-License-Identifier: Apache-2.0

/// A moment, in nanoseconds since the zero of a clock or timeline. Each variable's comment says which clock or
/// timeline.
///
/// The difference between two moments of one clock is a `Duration`; a moment plus a `Duration` is a moment. Moments
/// cannot be added, and cannot be confused with frame or sample numbers.
package struct Timestamp: Sendable, Hashable, Comparable {
    /// Nanoseconds since zero; may be negative.
    package var nanoseconds: Int64

    /// The moment `nanoseconds` after zero.
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The moment at `ticks` of `base`, to the nearest nanosecond.
    package init(_ ticks: Int64, in base: TimeBase) { nanoseconds = base.rescale(ticks, to: .nanoseconds) }

    /// The zero of the clock or timeline.
    package static let zero = Timestamp(nanoseconds: 0)

    /// The moment `duration` later, to the nanosecond.
    package static func + (moment: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(nanoseconds: moment.nanoseconds + duration.inNanoseconds)
    }

    /// The moment `duration` earlier.
    package static func - (moment: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(nanoseconds: moment.nanoseconds - duration.inNanoseconds)
    }

    /// How much later the left moment is than the right moment, on the same clock.
    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// Nanoseconds with a fraction. During a frame of 40 ms, a clock that is 0.1 ppb off moves by 4·10⁻³ ns. An integer
/// number of nanoseconds cannot represent so small a step, and a floating-point number loses even whole nanoseconds
/// after some months.
package struct FineTime: Sendable, Hashable {
    /// Nanoseconds, rounded down.
    package private(set) var whole: Int64
    /// The fraction, in nanoseconds: 0 or more, below 1.
    private var rest: Double = 0

    /// A time of exactly `nanoseconds`.
    package init(_ nanoseconds: Int64) { whole = nanoseconds }

    /// Adds `nanoseconds`, which must be finite and below 2^62 in magnitude.
    package mutating func add(_ nanoseconds: Double) {
        let sum = rest + nanoseconds
        let floor = sum.rounded(.down)
        whole &+= Int64(floor)
        rest = sum - floor
    }

    /// Adds whole nanoseconds.
    package mutating func add(_ nanoseconds: Int64) { whole &+= nanoseconds }
}
