// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Converts the readings of one clock to those of another: a straight line through one pair of readings.
///
/// The line is valid only while the two clocks keep their relative rate. The code that creates a line must know how
/// fast that rate may change.
package struct ClockLine<First, Second>: Sendable, Hashable {
    /// A reading of the first clock.
    package let origin: Instant<First>
    /// The second clock's reading at the same moment.
    package let image: Instant<Second>
    /// How much faster the second clock runs than the first, as a fraction: 0.0001 is 100 ppm.
    package let rate: Double

    /// A line through `origin` and `image`. `rate` must be above −1.
    package init(origin: Instant<First>, image: Instant<Second>, rate: Double) {
        self.origin = origin
        self.image = image
        self.rate = rate
    }

    /// The second clock's reading when the first clock reads `moment`, to the nanosecond.
    package func image(of moment: Instant<First>) -> Instant<Second> {
        let distance = moment.nanoseconds &- origin.nanoseconds
        let slant = (Double(distance) * rate).rounded()
        return Instant(nanoseconds: image.nanoseconds &+ distance &+ Int64(slant))
    }

    /// The first clock's reading when the second clock reads `moment`, to the nanosecond.
    package func origin(of moment: Instant<Second>) -> Instant<First> {
        let distance = moment.nanoseconds &- image.nanoseconds
        let slant = (Double(distance) * rate / (1 + rate)).rounded()
        return Instant(nanoseconds: origin.nanoseconds &+ distance &- Int64(slant))
    }
}

/// Converts the monotonic clock to a program's time.
package typealias ProgramClockLine = ClockLine<MonotonicLine, ProgramLine>

/// Converts the media times of a source to the moments at which its media are due on the monotonic clock.
package typealias SourceClockLine = ClockLine<MediaLine, MonotonicLine>

/// The conversion between CLOCK_MONOTONIC and the program's time, for sources that position media in the program. The
/// program's thread writes it at each tick; any thread reads it.
package final class ProgramTime: Sendable {
    private let current: Mutex<ProgramClockLine?>

    /// The time of a program that has not started.
    package convenience init() { self.init(nil) }

    /// The time of a program. `line` converts CLOCK_MONOTONIC to that time; nil means that the program has not started.
    package init(_ line: ProgramClockLine?) { current = Mutex(line) }

    /// The line that converts CLOCK_MONOTONIC to the program's time; nil before the program starts.
    package var line: ProgramClockLine? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
