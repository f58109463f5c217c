// SPDX-License-Identifier: Apache-2.0

/// The format that all frames of a program share. Pixels are planar YCbCr 4:2:0, 8 bits.
package struct VideoFormat: Sendable, Hashable, Codable {
    /// Luma columns; even, 16 to 8192.
    package var width: Int
    /// Luma rows; even, 16 to 8192.
    package var height: Int
    /// Constant frame rate.
    package var frameRate: FrameRate
    /// Sample (pixel) aspect ratio, width to height; 1:1 is square.
    package var sampleAspectRatio: SampleAspectRatio
    /// Color tags, which every output preserves.
    package var color: ColorDescription

    /// Creates a format. Width and height must be positive and even.
    package init(
        width: Int, height: Int, frameRate: FrameRate, sampleAspectRatio: SampleAspectRatio = .square,
        color: ColorDescription = .bt709
    ) {
        precondition(width > 0 && height > 0 && width % 2 == 0 && height % 2 == 0, "4:2:0 needs even sizes")
        self.width = width
        self.height = height
        self.frameRate = frameRate
        self.sampleAspectRatio = sampleAspectRatio
        self.color = color
    }

    /// The default format, for a program whose video format is unknown: 1280x720 at 30 frames per second.
    package static let usual = VideoFormat(width: 1280, height: 720, frameRate: FrameRate(30), color: .unspecified)

    /// The valid format nearest to `frames`. Width and height become even, and at least 16 and at most 8192.
    package init(nearestTo frames: FrameFormat, frameRate: FrameRate) {
        self.init(
            width: min(8192, max(16, frames.width & ~1)), height: min(8192, max(16, frames.height & ~1)),
            frameRate: frameRate, sampleAspectRatio: frames.sampleAspectRatio, color: frames.color)
    }
}

/// A frame's width and height in pixels.
package struct FrameSize: Sendable, Hashable, Codable {
    /// Columns.
    package var width: Int
    /// Rows.
    package var height: Int

    /// A size of `width` by `height` pixels.
    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
