// SPDX-License-Identifier: Apache-2.0

/// The failure of a tool of the tests, in one sentence.
struct HarnessFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
