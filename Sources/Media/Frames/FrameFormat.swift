// SPDX-License-Identifier: Apache-2.0

/// The format that all frames of a coded track share. It has no frame rate: each frame carries its own times.
package struct FrameFormat: Sendable, Hashable, Codable {
    /// Luma columns; at least 1.
    package var width: Int
    /// Luma rows; at least 1.
    package var height: Int
    /// Sample (pixel) aspect ratio, width to height; 1:1 is square.
    package var sampleAspectRatio: SampleAspectRatio
    /// Color tags, which every output preserves.
    package var color: ColorDescription

    /// Creates a format. Width and height must be positive.
    package init(
        width: Int, height: Int, sampleAspectRatio: SampleAspectRatio = .square, color: ColorDescription = .bt709
    ) {
        precondition(width > 0 && height > 0, "a frame has pixels")
        self.width = width
        self.height = height
        self.sampleAspectRatio = sampleAspectRatio
        self.color = color
    }
}

extension VideoFormat {
    /// The same format without the frame rate.
    package var frameFormat: FrameFormat {
        FrameFormat(width: width, height: height, sampleAspectRatio: sampleAspectRatio, color: color)
    }
}

/// The shape of one pixel.
package struct SampleAspectRatio: Sendable, Hashable, Codable {
    /// The width of a pixel, in the same unit as ``vertical``.
    package var horizontal: Int32
    /// The height of a pixel, in the same unit as ``horizontal``.
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
