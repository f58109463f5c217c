// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Converts the readings of one clock to those of another: a straight line through one pair of readings.
///
/// The line is valid only while the two clocks keep their relative rate. The code that creates a line must know how
/// fast that rate may change.
package struct ClockLine: Sendable, Hashable {
    /// A reading of the first clock.
    package let origin: Timestamp
    /// The second clock's reading at the same moment.
    package let image: Timestamp
    /// How much faster the second clock runs than the first, as a fraction: 0.0001 is 100 ppm.
    package let rate: Double

    /// A line through `origin` and `image`. `rate` must be above −1.
    package init(origin: Timestamp, image: Timestamp, rate: Double) {
        self.origin = origin
        self.image = image
        self.rate = rate
    }

    /// The second clock's reading when the first clock reads `moment`, to the nanosecond.
    package func image(of moment: Timestamp) -> Timestamp {
        let distance = moment.nanoseconds &- origin.nanoseconds
        let slant = (Double(distance) * rate).rounded()
        return Timestamp(nanoseconds: image.nanoseconds &+ distance &+ Int64(slant))
    }

    /// The first clock's reading when the second clock reads `moment`, to the nanosecond.
    package func origin(of moment: Timestamp) -> Timestamp {
        let distance = moment.nanoseconds &- image.nanoseconds
        let slant = (Double(distance) * rate / (1 + rate)).rounded()
        return Timestamp(nanoseconds: origin.nanoseconds &+ distance &- Int64(slant))
    }
}

/// The conversion between CLOCK_MONOTONIC and the program's time, for sources that position media in the program. The
/// program's thread writes it at each tick; any thread reads it.
package final class ProgramTime: Sendable {
    private let current: Mutex<ClockLine?>

    /// The time of a program that has not started.
    package convenience init() { self.init(nil) }

    /// The time of a program. `line` converts CLOCK_MONOTONIC to that time; nil means that the program has not started.
    package init(_ line: ClockLine?) { current = Mutex(line) }

    /// The line that converts CLOCK_MONOTONIC to the program's time; nil before the program starts.
    package var line: ClockLine? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
