// SPDX-License-Identifier: Apache-2.0

/// What every frame of a coded track looks like. It has no frame rate: frames carry their own times.
package struct FrameFormat: Sendable, Hashable, Codable {
    /// Luma columns; at least 1.
    package var width: Int
    /// Luma rows; at least 1.
    package var height: Int
    /// Sample (pixel) aspect ratio, width to height; 1:1 is square.
    package var sampleAspectRatio: SampleAspectRatio
    /// Color tags, carried through to every output.
    package var color: ColorDescription

    /// A format of these properties. Width and height must be positive.
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
    /// What its frames look like.
    package var frameFormat: FrameFormat {
        FrameFormat(width: width, height: height, sampleAspectRatio: sampleAspectRatio, color: color)
    }
}
