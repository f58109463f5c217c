// SPDX-License-Identifier: Apache-2.0

/// What a person wrote that is not what it should be, in one sentence that says what would be right.
public struct TextFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String

    /// A failure that `description` explains.
    public init(_ description: String) { self.description = description }
}
