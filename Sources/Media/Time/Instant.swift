// SPDX-License-Identifier: Apache-2.0

/// A moment, in nanoseconds since the zero of the clock or timeline `Line`.
///
/// The difference between two moments is a `Duration`; a moment plus a `Duration` is a moment. Moments cannot be added,
/// and a moment of one clock cannot be confused with a moment of another clock or with a number of frames or samples:
///
/// ```swift
/// let deadline: MonotonicInstant = clock.now + .seconds(5)
/// let waited: Duration = clock.now - began
/// ```
package struct Instant<Line>: Sendable, Hashable, Comparable {
    /// Nanoseconds since zero; may be negative.
    package var nanoseconds: Int64

    /// The moment `nanoseconds` after zero.
    @inlinable
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The moment at `ticks` of `base`, to the nearest nanosecond.
    package init(_ ticks: Int64, in base: TimeBase) { nanoseconds = base.rescale(ticks, to: .nanoseconds) }

    /// The zero of the clock or timeline.
    @inlinable
    package static var zero: Self { Self(nanoseconds: 0) }

    /// A moment before all others.
    @inlinable
    package static var distantPast: Self { Self(nanoseconds: .min) }

    /// A moment after all others.
    @inlinable
    package static var distantFuture: Self { Self(nanoseconds: .max) }

    /// The moment `duration` later, to the nanosecond; at most ``distantFuture``.
    @inlinable
    package static func + (moment: Self, duration: Duration) -> Self {
        let (sum, overflow) = moment.nanoseconds.addingReportingOverflow(duration.inNanoseconds)
        if overflow { return duration < .zero ? distantPast : distantFuture }
        return Self(nanoseconds: sum)
    }

    /// The moment `duration` earlier, to the nanosecond; at least ``distantPast``.
    @inlinable
    package static func - (moment: Self, duration: Duration) -> Self {
        let (rest, overflow) = moment.nanoseconds.subtractingReportingOverflow(duration.inNanoseconds)
        if overflow { return duration < .zero ? distantFuture : distantPast }
        return Self(nanoseconds: rest)
    }

    /// Moves `moment` later by `duration`.
    @inlinable
    package static func += (moment: inout Self, duration: Duration) { moment = moment + duration }

    /// How much later the left moment is than the right moment; clamped to 292 years.
    @inlinable
    package static func - (later: Self, earlier: Self) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        if overflow { return .nanoseconds(later < earlier ? Int64.min : .max) }
        return .nanoseconds(difference)
    }

    @inlinable
    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// A moment is coded, and shown in text, as its number of nanoseconds.
extension Instant: Codable, CustomStringConvertible {
    package var description: String { String(nanoseconds) }

    package init(from decoder: any Decoder) throws {
        nanoseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(nanoseconds)
    }
}

/// The line of ``MonotonicClock``, whose zero is an arbitrary moment.
package enum MonotonicLine {}

/// The line of a program's time, whose zero is the start of the program.
package enum ProgramLine {}

/// The line of the media times of one source or file, whose zero is chosen by the source.
package enum MediaLine {}

/// A moment of ``MonotonicClock``: when something happens on this machine.
package typealias MonotonicInstant = Instant<MonotonicLine>

/// A moment of a program: where a frame, a packet, a marker or a clip is in it.
package typealias ProgramInstant = Instant<ProgramLine>

/// A moment of a source or a file, as its media state it.
package typealias Timestamp = Instant<MediaLine>
