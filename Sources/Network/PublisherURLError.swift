// SPDX-License-Identifier: Apache-2.0

/// Why an output's address cannot be used: one sentence, without the address, which may hold secrets.
public struct PublisherURLError: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String

    /// An error with this sentence.
    package init(_ description: String) { self.description = description }
}
