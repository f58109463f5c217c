// SPDX-License-Identifier: Apache-2.0

/// The color of a video as in ITU-T H.273: the code points that the SPS, the `colr` box and libav use.
package struct ColorDescription: Sendable, Hashable, Codable {
    /// The code point for "unspecified" in all three tables.
    private static let unspecifiedCode: UInt8 = 2

    /// `ColorPrimaries`; 2 is unspecified.
    package var primaries: UInt8
    /// `TransferCharacteristics`; 2 is unspecified.
    package var transfer: UInt8
    /// `MatrixCoefficients`; 2 is unspecified.
    package var matrix: UInt8
    /// Whether samples use the full range (0–255) instead of the limited range (16–235).
    package var isFullRange: Bool

    /// A description of the three code points and the range.
    package init(primaries: UInt8, transfer: UInt8, matrix: UInt8, isFullRange: Bool) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// All code points are unspecified, and the range is limited.
    package static let unspecified = ColorDescription(primaries: 2, transfer: 2, matrix: 2, isFullRange: false)
    /// ITU-R BT.709, limited range: high definition.
    package static let bt709 = ColorDescription(primaries: 1, transfer: 1, matrix: 1, isFullRange: false)
    /// ITU-R BT.601 with 525 lines, limited range: standard definition where the power grid has 60 Hz.
    package static let bt601With525Lines = ColorDescription(primaries: 6, transfer: 6, matrix: 6, isFullRange: false)
    /// ITU-R BT.601 with 625 lines, limited range: standard definition where the power grid has 50 Hz.
    package static let bt601With625Lines = ColorDescription(primaries: 5, transfer: 6, matrix: 5, isFullRange: false)

    /// Returns this description with its unspecified fields filled in. Specified fields and the range do not change.
    ///
    /// If the matrix is that of BT.709, BT.601 or BT.2020, this standard determines the other fields; otherwise the
    /// standard of the primaries does. If the primaries belong to none of these standards either, the size of the video
    /// decides, as in players. BT.709 is used from 720 lines or 1280 columns up, in either orientation. Below that,
    /// BT.601 is used: with 625 lines if the shorter side is the height of a 625-line frame or field (576, 288),
    /// otherwise with 525 lines.
    package func resolved(width: Int, height: Int) -> ColorDescription {
        let system = Self.system(of: matrix) ?? Self.system(of: primaries) ?? Self.system(width: width, height: height)
        var color = self
        if Self.isUnspecified(primaries) { color.primaries = system.primaries }
        if Self.isUnspecified(transfer) { color.transfer = system.transfer }
        if matrix == Self.unspecifiedCode { color.matrix = system.matrix }
        return color
    }

    /// Whether `code` means "unspecified". 0 is reserved in two of the tables; in the third, the table of matrices, it
    /// means RGB.
    private static func isUnspecified(_ code: UInt8) -> Bool { code == unspecifiedCode || code == 0 }

    /// The standard that has this code point for its matrix and its primaries; both tables use the same numbers. Nil
    /// for all standards but BT.709, BT.601 and BT.2020.
    private static func system(of code: UInt8) -> ColorDescription? {
        switch code {
        case 1: bt709
        case 5: bt601With625Lines
        case 6: bt601With525Lines
        case 9: ColorDescription(primaries: 9, transfer: 14, matrix: 9, isFullRange: false)  // BT.2020
        default: nil
        }
    }

    private static func system(width: Int, height: Int) -> ColorDescription {
        let (short, long) = (min(width, height), max(width, height))
        if short >= 720 || long >= 1280 { return bt709 }
        return short == 576 || short == 288 ? bt601With625Lines : bt601With525Lines
    }
}
