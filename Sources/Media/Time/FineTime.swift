// SPDX-License-Identifier: Apache-2.0

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
