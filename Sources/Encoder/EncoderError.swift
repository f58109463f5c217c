// SPDX-License-Identifier: Apache-2.0

/// A failed encoder operation.
package struct EncoderError: Error, Sendable, CustomStringConvertible {
    /// The attempted operation.
    package let operation: String
    /// The library's message.
    package let reason: String

    package var description: String { "\(operation): \(reason)" }
}
