// SPDX-License-Identifier: Apache-2.0

/// A moment, in nanoseconds since the zero of a clock or timeline. The declaration of a variable says which one.
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
