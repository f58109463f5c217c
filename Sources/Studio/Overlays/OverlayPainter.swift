// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import LibAV
internal import Media
internal import Program

/// Draws configured overlays in the program's format. It blocks on files and filters, so it must not be called on the
/// program's thread.
struct OverlayPainter: Sendable {
    /// The reason why an overlay cannot be shown, in a sentence.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    let format: VideoFormat

    /// Draws `overlay`. If `text` is given, it replaces the overlay's own text.
    func art(of overlay: OverlaySpecification, text: OverlayText? = nil) throws(Fault) -> OverlayArt {
        do throws(AVFailure) {
            switch overlay.content {
            case .image(let path): return try image(path, overlay)
            case .text(let own): return try line(text ?? own, overlay)
            }
        } catch {
            let font = "Is there a font? font= names its file."
            let advice = if case .text = overlay.content { error.isMissingLibrary ? "" : " \(font)" } else { "" }
            throw Fault(description: "The overlay \(overlay.name) cannot be shown: \(error).\(advice)")
        }
    }

    private func image(_ path: String, _ overlay: OverlaySpecification) throws(AVFailure) -> OverlayArt {
        let image = try PixelImage(file: path) { width, height in size(of: overlay, width: width, height: height) }
        let drawn = OverlayImage(rgba: image.pixels, width: image.width, height: image.height, color: format.color)
        let (x, y) = place(of: overlay)
        return OverlayArt(drawn, x: x, y: y, opacity: overlay.opacity)
    }

    private func place(of overlay: OverlaySpecification) -> (x: Int, y: Int) {
        (Int((overlay.x * Double(format.width)).rounded()), Int((overlay.y * Double(format.height)).rounded()))
    }

    /// The size of an overlay's image in the program's pixels. The image keeps its aspect ratio on the screen, even if
    /// the program's pixels are not square: without a size of the overlay, it then has its own height.
    func size(of overlay: OverlaySpecification, width: Int, height: Int) -> (width: Int, height: Int) {
        let pixel = Double(format.sampleAspectRatio.horizontal) / Double(format.sampleAspectRatio.vertical)
        let shape = Double(width) / Double(height) / pixel
        let (columns, rows) =
            switch overlay.size {
            case .natural: (Double(height) * shape, Double(height))
            case .width(let part): (part * Double(format.width), part * Double(format.width) / shape)
            case .height(let part): (part * Double(format.height) * shape, part * Double(format.height))
            }
        // The image can be larger than the frame, because parts of an overlay beyond the frame are cut off.
        let bound = { (length: Double) in min(PixelImage.largest, max(2, Int(length.rounded()))) }
        return (bound(columns), bound(rows))
    }

    private func line(_ text: OverlayText, _ overlay: OverlaySpecification) throws(AVFailure) -> OverlayArt {
        let part = if case .height(let part) = overlay.size { part } else { 0.05 }
        let painter = TextPainter(
            height: Int((part * Double(format.height)).rounded()), widest: format.width, font: overlay.font)
        let (x, y) = place(of: overlay)
        return try OverlayArt(text, x: x & ~1, y: y, opacity: overlay.opacity, color: format.color) {
            (letters) throws(AVFailure) in
            try painter.draw(letters).glyph(height: painter.height, color: overlay.color)
        }
    }
}

extension TextPainter.Drawing {
    /// A glyph of `color` with a black outline, which can be read in front of any background.
    fileprivate func glyph(height: Int, color: RGBColor) -> OverlayArt.Glyph {
        var pixels: [UInt8] = []
        pixels.reserveCapacity(outline.count * 4)
        for index in outline.indices {
            let (part, whole) = (Int(min(letter[index], outline[index])), max(1, Int(outline[index])))
            for level in [color.red, color.green, color.blue] { pixels.append(UInt8(Int(level) * part / whole)) }
            pixels.append(outline[index])
        }
        return OverlayArt.Glyph(pixels: pixels, width: width, height: height, offset: offset, advance: advance)
    }
}
