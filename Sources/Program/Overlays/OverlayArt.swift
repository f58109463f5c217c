// SPDX-License-Identifier: Apache-2.0

package import Kernels
package import Media

/// The appearance of an overlay: images at positions in the frame. All images are rendered in advance, so that no text
/// is rendered while the program runs. For each digit of a clock there are ten images, one of which is drawn.
package struct OverlayArt: Sendable {
    /// A rendered letter or text. Its pixels have red, green, blue and alpha and are stored row by row.
    package struct Glyph: Sendable {
        package var pixels: [UInt8]
        package var width: Int
        package var height: Int
        /// The distance in pixels from the pen position to the glyph's left edge; an even number.
        package var offset: Int
        /// By how many pixels the pen moves for the next glyph; an even number.
        package var advance: Int

        package init(pixels: [UInt8], width: Int, height: Int, offset: Int, advance: Int) {
            (self.pixels, self.width, self.height) = (pixels, width, height)
            (self.offset, self.advance) = (offset, advance)
        }
    }

    private struct Part: Sendable {
        /// One image, or ten images, one for each digit.
        let images: [OverlayImage]
        let x: Int
        let digit: (place: Int, clock: OverlayTime.Clock)?
    }

    private let parts: [Part]
    private let y: Int
    private let opacity: Double

    /// Creates the appearance of an image whose upper left corner is at (x, y). `opacity` is from 0 to 1.
    package init(_ image: OverlayImage, x: Int, y: Int, opacity: Double) {
        (parts, self.y, self.opacity) = ([Part(images: [image], x: x, digit: nil)], y, opacity)
    }

    /// Creates the appearance of a text. The upper left corner of its line is at (x, y). `paint` renders a piece of the
    /// text.
    package init<Failure: Error>(
        _ text: OverlayText, x: Int, y: Int, opacity: Double, color: ColorDescription,
        paint: (String) throws(Failure) -> Glyph
    ) throws(Failure) {
        var (parts, pen) = ([Part](), x)
        var digits: [Glyph] = []
        if text.pieces.contains(where: { if case .digit = $0 { true } else { false } }) {
            for digit in 0...9 { digits.append(try paint("\(digit)")) }
        }
        let (images, advance) = (digits.map { $0.image(color) }, digits.map(\.advance).max() ?? 0)
        let offset = digits.map(\.offset).min() ?? 0
        for piece in text.pieces {
            switch piece {
            case .fixed(let letters):
                let glyph = try paint(letters)
                if glyph.width > 0 {
                    parts.append(Part(images: [glyph.image(color)], x: pen + glyph.offset, digit: nil))
                }
                pen += glyph.advance
            case .digit(let place, let clock):
                parts.append(Part(images: images, x: pen + offset, digit: (place, clock)))
                pen += advance
            }
        }
        (self.parts, self.y, self.opacity) = (parts, y, opacity)
    }

    /// Whether the overlay shows a clock, so that it changes while it is visible.
    package var hasClock: Bool { parts.contains { $0.digit != nil } }

    /// Draws the overlay on `canvas`. Its clocks show `time`. `level` is the opacity of the fade, from 0 to 1.
    package func draw(on canvas: inout Canvas, at time: OverlayTime, level: Double) {
        for part in parts {
            let index = part.digit.map { time.digit($0.place, of: $0.clock) } ?? 0
            part.images[index].draw(on: &canvas, x: part.x, y: y, opacity: opacity * level)
        }
    }
}

extension OverlayArt.Glyph {
    fileprivate func image(_ color: ColorDescription) -> OverlayImage {
        OverlayImage(rgba: pixels, width: width, height: height, color: color)
    }
}
