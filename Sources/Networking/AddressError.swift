// SPDX-License-Identifier: Apache-2.0

/// Why an address or one of its options cannot be used, in one sentence. The sentence does not contain the address,
/// which may contain secrets.
package struct AddressError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    /// An error with this sentence.
    package init(_ description: String) { self.description = description }
}
