// SPDX-License-Identifier: Apache-2.0

package import Media

/// Tests write a moment as its number of nanoseconds.
extension Instant: ExpressibleByIntegerLiteral {
    package init(integerLiteral nanoseconds: Int64) { self.init(nanoseconds: nanoseconds) }
}
