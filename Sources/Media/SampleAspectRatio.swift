// SPDX-License-Identifier: Apache-2.0

/// The shape of one pixel.
public struct SampleAspectRatio: Sendable, Hashable, Codable {
    /// Width of a pixel in units of ``vertical``.
    public var horizontal: Int32
    /// Height of a pixel in units of ``horizontal``.
    public var vertical: Int32

    /// `horizontal` to `vertical`; both positive.
    public init(_ horizontal: Int32, _ vertical: Int32) {
        precondition(horizontal > 0 && vertical > 0, "an aspect ratio is positive")
        self.horizontal = horizontal
        self.vertical = vertical
    }

    /// Square pixels.
    public static let square = SampleAspectRatio(1, 1)
}
