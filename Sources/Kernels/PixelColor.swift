// SPDX-License-Identifier: Apache-2.0

package import Media

/// A color in the notation `#rrggbb`.
package struct RGBColor: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Red, from 0 to 255; like green and blue, gamma-coded.
    package var red: UInt8
    /// Green.
    package var green: UInt8
    /// Blue.
    package var blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) {
        (self.red, self.green, self.blue) = (red, green, blue)
    }

    /// Parses `text`: `#rrggbb`, `black` or `white`; nil for any other text.
    package init?(_ text: String) {
        switch text {
        case "black": self = .black
        case "white": self = .white
        default:
            let digits = text.utf8.dropFirst()
            guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6,
                digits.allSatisfy({ $0 != UInt8(ascii: "+") }), let value = UInt32(text.dropFirst(), radix: 16)
            else { return nil }
            self.init(
                red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
                blue: UInt8(truncatingIfNeeded: value))
        }
    }

    /// Decodes the color from text.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let color = RGBColor(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(text) is no color such as #0a64ff")
        }
        self = color
    }

    /// Encodes the color as text.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Black.
    package static let black = RGBColor(red: 0, green: 0, blue: 0)
    /// White.
    package static let white = RGBColor(red: 255, green: 255, blue: 255)

    package var description: String {
        let digits = String(UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue), radix: 16)
        return "#" + String(repeating: "0", count: 6 - digits.count) + digits
    }
}

/// A color in YCbCr, the form in which frames store colors.
package struct PixelColor: Sendable, Hashable {
    /// Luma.
    package var y: UInt8
    /// Blue difference.
    package var u: UInt8
    /// Red difference.
    package var v: UInt8

    package init(y: UInt8, u: UInt8, v: UInt8) {
        (self.y, self.u, self.v) = (y, u, v)
    }

    /// Black in frames of limited range.
    package static let black = PixelColor(y: 16, u: 128, v: 128)

    /// Converts `color` for frames of `description`; an unknown matrix is treated as BT.709.
    package init(_ color: RGBColor, in description: ColorDescription) {
        self = ColorMatrix(description).convert(color)
    }
}

/// Converts RGB colors to YCbCr samples (ITU-T H.273, 8.3, equations 38 to 40 and the equations for the two ranges).
struct ColorMatrix {
    private let weights: LumaWeights
    private let lumaOffset: Double
    private let lumaScale: Double
    private let chromaScale: Double

    init(_ description: ColorDescription) {
        weights = LumaWeights(of: description)
        lumaOffset = description.isFullRange ? 0 : 16
        lumaScale = description.isFullRange ? 255 : 219
        chromaScale = description.isFullRange ? 255 : 224
    }

    func convert(_ color: RGBColor) -> PixelColor {
        let (r, g, b) = (Double(color.red) / 255, Double(color.green) / 255, Double(color.blue) / 255)
        let luma = weights.red * r + weights.green * g + weights.blue * b
        func sample(_ value: Double) -> UInt8 { UInt8(min(255, max(0, value.rounded()))) }
        return PixelColor(
            y: sample(lumaOffset + lumaScale * luma),
            u: sample(128 + chromaScale * (b - luma) / (2 * (1 - weights.blue))),
            v: sample(128 + chromaScale * (r - luma) / (2 * (1 - weights.red))))
    }
}
