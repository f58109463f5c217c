// SPDX-License-Identifier: Apache-2.0

/// The shape of one pixel.
package struct SampleAspectRatio: Sendable, Hashable, Codable {
    /// The width of a pixel, relative to the height ``vertical``.
    package var horizontal: Int32
    /// The height of a pixel, relative to the width ``horizontal``.
    package var vertical: Int32

    /// A ratio of `horizontal` to `vertical`; both must be positive.
    package init(_ horizontal: Int32, _ vertical: Int32) {
        precondition(horizontal > 0 && vertical > 0, "an aspect ratio is positive")
        self.horizontal = horizontal
        self.vertical = vertical
    }

    /// Square pixels.
    package static let square = SampleAspectRatio(1, 1)
}
