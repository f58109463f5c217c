// SPDX-License-Identifier: Apache-2.0

/// The content of a slate.
package enum SlateSpecification: Sendable, Hashable {
    /// Color bars with “no signal” and the channel's name.
    case bars
    /// An image, or a video file that is repeated.
    case file(path: String)
}
