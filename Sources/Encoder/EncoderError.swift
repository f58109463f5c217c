// SPDX-License-Identifier: Apache-2.0

/// The encoder could not do what was asked.
package struct EncoderError: Error, Sendable, CustomStringConvertible {
    /// What was attempted.
    package let operation: String
    /// What the library said.
    package let reason: String

    package var description: String { "\(operation): \(reason)" }
}
