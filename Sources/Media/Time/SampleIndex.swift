// SPDX-License-Identifier: Apache-2.0

/// The number of a sample of a program's audio at its constant rate; the program's first sample is 0.
package struct SampleIndex: Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral {
    /// The number; negative before the program's beginning.
    package var number: Int64

    /// Sample `number`.
    package init(_ number: Int64) { self.number = number }

    package init(integerLiteral number: Int64) { self.number = number }

    /// The number of samples from the right index to the left one.
    package static func - (later: SampleIndex, earlier: SampleIndex) -> Int64 { later.number - earlier.number }

    package static func < (left: SampleIndex, right: SampleIndex) -> Bool { left.number < right.number }
}
