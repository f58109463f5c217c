// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes are not accepted as written by this module.
package struct MP4Failure: Error, Equatable, CustomStringConvertible {
    package let description: String

    /// A failure that `description` explains.
    package init(description: String) { self.description = description }
}
