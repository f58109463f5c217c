// SPDX-License-Identifier: Apache-2.0

/// What is shown when no input has anything.
package enum SlateSpecification: Sendable, Hashable {
    /// Color bars with “no signal” and the channel's name.
    case bars
    /// An image, or a video file that is played again and again.
    case file(path: String)
}
