// SPDX-License-Identifier: Apache-2.0

/// Why no clip could be made, in one sentence.
package struct ClipFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    /// Whether it is only that the files are not coded as one: coded again, they can be joined.
    package var isDifference = false

    package init(_ description: String) { self.description = description }

    /// The user cancelled it.
    package static let cancelled = ClipFailure("It was cancelled; nothing is left of it.")

    package var isCancellation: Bool { self == .cancelled }
}
