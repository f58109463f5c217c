// SPDX-License-Identifier: Apache-2.0

/// A tool that did not do its work, in one sentence.
struct HarnessFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
