// SPDX-License-Identifier: Apache-2.0

/// Nanoseconds that are moved by less than one at a time. A clock that is 0.1 ppm off moves 4·10⁻³ ns in a frame of
/// 40 ms; whole nanoseconds would lose that, and floating-point ones lose whole nanoseconds once they count months.
package struct FineTime: Sendable, Hashable {
    /// Nanoseconds, rounded down.
    package private(set) var whole: Int64
    /// The rest, in nanoseconds: 0 or more, below 1.
    private var rest: Double = 0

    /// Exactly `nanoseconds`.
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
