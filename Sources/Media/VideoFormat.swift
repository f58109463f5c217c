// SPDX-License-Identifier: Apache-2.0

/// Color description as in ITU-T H.273: the code points that travel in SPS, `colr` and libav alike.
public struct ColorDescription: Sendable, Hashable, Codable {
    /// `ColorPrimaries`; 2 is unspecified.
    public var primaries: UInt8
    /// `TransferCharacteristics`; 2 is unspecified.
    public var transfer: UInt8
    /// `MatrixCoefficients`; 2 is unspecified.
    public var matrix: UInt8
    /// Whether samples use the full range (0–255) and not the limited one (16–235).
    public var isFullRange: Bool

    /// A description of the three code points and the range.
    public init(primaries: UInt8, transfer: UInt8, matrix: UInt8, isFullRange: Bool) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// Nothing known, limited range.
    public static let unspecified = ColorDescription(primaries: 2, transfer: 2, matrix: 2, isFullRange: false)
    /// ITU-R BT.709, limited range: what high definition is.
    public static let bt709 = ColorDescription(primaries: 1, transfer: 1, matrix: 1, isFullRange: false)
}

/// What every frame of a program looks like. Pixels are planar YCbCr 4:2:0, 8 bits.
public struct VideoFormat: Sendable, Hashable, Codable {
    /// Luma columns; even, 16 to 8192.
    public var width: Int
    /// Luma rows; even, 16 to 8192.
    public var height: Int
    /// Constant frame rate.
    public var frameRate: FrameRate
    /// Sample (pixel) aspect ratio, width to height; 1:1 is square.
    public var sampleAspectRatio: SampleAspectRatio
    /// Color tags, carried through to every output.
    public var color: ColorDescription

    /// A format of these properties. Width and height must be even.
    public init(
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
}

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
