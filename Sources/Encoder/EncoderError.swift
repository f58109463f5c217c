// SPDX-License-Identifier: Apache-2.0

/// The encoder could not do what was asked.
public struct EncoderError: Error, Sendable, CustomStringConvertible {
    /// What was attempted.
    public let operation: String
    /// What the library said.
    public let reason: String

    public var description: String { "\(operation): \(reason)" }
}
