// SPDX-License-Identifier: Apache-2.0

/// The shape of one pixel.
package struct SampleAspectRatio: Sendable, Hashable, Codable {
    /// Width of a pixel in units of ``vertical``.
    package var horizontal: Int32
    /// Height of a pixel in units of ``horizontal``.
    package var vertical: Int32

    /// `horizontal` to `vertical`; both positive.
    package init(_ horizontal: Int32, _ vertical: Int32) {
        precondition(horizontal > 0 && vertical > 0, "an aspect ratio is positive")
        self.horizontal = horizontal
        self.vertical = vertical
    }

    /// Square pixels.
    package static let square = SampleAspectRatio(1, 1)
}
