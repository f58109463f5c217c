// SPDX-License-Identifier: Apache-2.0

/// How one clock reads while another runs: a straight line through one pair of readings.
///
/// Good for as long as the rate is: what makes such a line says how fast the rate itself may change.
package struct ClockLine: Sendable, Hashable {
    /// A reading of the one clock.
    package let origin: Timestamp
    /// What the other clock reads at that moment.
    package let image: Timestamp
    /// By how much the other clock runs faster, as a fraction: 0.0001 is 100 ppm.
    package let rate: Double

    /// A line through `origin` and `image`. `rate` must be above −1.
    package init(origin: Timestamp, image: Timestamp, rate: Double) {
        self.origin = origin
        self.image = image
        self.rate = rate
    }

    /// What the other clock reads when the one reads `moment`, to the nanosecond.
    package func image(of moment: Timestamp) -> Timestamp {
        let distance = moment.nanoseconds &- origin.nanoseconds
        let slant = (Double(distance) * rate).rounded()
        return Timestamp(nanoseconds: image.nanoseconds &+ distance &+ Int64(slant))
    }

    /// What the one clock reads when the other reads `moment`, to the nanosecond.
    package func origin(of moment: Timestamp) -> Timestamp {
        let distance = moment.nanoseconds &- image.nanoseconds
        let slant = (Double(distance) * rate / (1 + rate)).rounded()
        return Timestamp(nanoseconds: origin.nanoseconds &+ distance &- Int64(slant))
    }
}
