// SPDX-License-Identifier: Apache-2.0

/// The reason why a clip could not be made, in one sentence.
package struct ClipFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    /// Whether the only obstacle is that the files differ in coding. If so, the files can be joined by re-encoding
    /// them.
    package var isDifference = false

    package init(_ description: String) { self.description = description }

    /// The failure of an operation that the user cancelled.
    package static let cancelled = ClipFailure("It was cancelled; nothing is left of it.")

    package var isCancellation: Bool { self == .cancelled }
}
