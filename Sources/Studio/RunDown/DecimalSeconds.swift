// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A length of time in seconds, with a precision of a nanosecond, in the syntax of run-downs: `12.5`.
package struct DecimalSeconds: CustomStringConvertible {
    package let description: String

    package init(_ duration: Duration) {
        let nanoseconds = max(0, duration.inNanoseconds)
        let rest = String(nanoseconds % 1_000_000_000 + 1_000_000_000).dropFirst()
        let digits = rest.reversed().drop { $0 == "0" }.reversed()
        description = "\(nanoseconds / 1_000_000_000)" + (digits.isEmpty ? "" : "." + String(digits))
    }
}
