// SPDX-License-Identifier: Apache-2.0

package import Media

/// A still image with alpha that is drawn over frames. The image is converted to planes once, and then drawn over each
/// frame.
///
/// Colors are not premultiplied by alpha. The object is immutable, so any thread may draw it.
package final class OverlayImage: Sendable {
    /// Luma columns; even.
    package let width: Int
    /// Luma rows; even.
    package let height: Int

    /// One plane and its alpha, 0 to 255.
    private struct Layer: Sendable {
        var samples: [UInt8]
        var alpha: [UInt8]
        /// For each row, the range from the first to the last column that is not fully transparent.
        var spans: [Range<Int>] = []
    }

    private let y: Layer
    private let u: Layer
    private let v: Layer

    /// Creates an image from `pixels`: rows of `width` pixels of red, green, blue and alpha, not premultiplied. `color`
    /// is the color description of the frames over which the image is drawn. If the width or height is odd, a
    /// transparent column or row is added. An image without pixels is invisible.
    package init(rgba pixels: [UInt8], width: Int, height: Int, color: ColorDescription) {
        precondition(width >= 0 && height >= 0 && pixels.count == width * height * 4, "an image has all its pixels")
        let (columns, rows) = ((width + 1) / 2 * 2, (height + 1) / 2 * 2)
        let matrix = ColorMatrix(color)
        let (luma, chroma) = (columns * rows, columns * rows / 4)
        var samples = [UInt8](repeating: 0, count: luma)
        var alpha = samples
        // Chroma sums are weighted by alpha, so that transparent pixels do not bleed into edges.
        var sums = [(u: Int, v: Int, alpha: Int)](repeating: (0, 0, 0), count: chroma)
        for row in 0..<height {
            for column in 0..<width {
                let pixel = (row * width + column) * 4
                let opacity = Int(pixels[pixel + 3])
                let value = matrix.convert(
                    RGBColor(red: pixels[pixel], green: pixels[pixel + 1], blue: pixels[pixel + 2]))
                samples[row * columns + column] = value.y
                alpha[row * columns + column] = pixels[pixel + 3]
                let cell = row / 2 * (columns / 2) + column / 2
                sums[cell].u += Int(value.u) * opacity
                sums[cell].v += Int(value.v) * opacity
                sums[cell].alpha += opacity
            }
        }
        func mean(_ sum: Int, _ alpha: Int) -> UInt8 { alpha == 0 ? 128 : UInt8((sum + alpha / 2) / alpha) }
        let chromaAlpha = sums.map { UInt8(($0.alpha + 2) / 4) }
        (self.width, self.height) = (columns, rows)
        y = Self.layer(samples, alpha, columns, rows)
        u = Self.layer(sums.map { mean($0.u, $0.alpha) }, chromaAlpha, columns / 2, rows / 2)
        v = Self.layer(sums.map { mean($0.v, $0.alpha) }, chromaAlpha, columns / 2, rows / 2)
    }

    private static func layer(_ samples: [UInt8], _ alpha: [UInt8], _ width: Int, _ height: Int) -> Layer {
        let spans = (0..<height).map { row in
            let line = alpha[row * width..<(row + 1) * width]
            guard let first = line.firstIndex(where: { $0 > 0 }), let last = line.lastIndex(where: { $0 > 0 }) else {
                return 0..<0
            }
            return first - line.startIndex..<last + 1 - line.startIndex
        }
        return Layer(samples: samples, alpha: alpha, spans: spans)
    }

    /// Draws the image on `canvas` with its upper left corner at (x, y), rounded to even pixels, with `opacity` from 0
    /// to 1. Parts outside the canvas are not drawn.
    package func draw(on canvas: inout Canvas, x: Int, y: Int, opacity: Double = 1) {
        let weight = UInt16((min(1, max(0, opacity)) * 128).rounded())
        guard weight > 0 else { return }
        let (left, top) = (x & ~1, y & ~1)
        let target = canvas.target
        Self.draw(self.y, width, left, top, weight, on: target.y)
        Self.draw(u, width / 2, left / 2, top / 2, weight, on: target.u)
        Self.draw(v, width / 2, left / 2, top / 2, weight, on: target.v)
    }

    private static func draw(
        _ layer: Layer, _ width: Int, _ left: Int, _ top: Int, _ opacity: UInt16, on target: TargetPlane
    ) {
        layer.samples.withUnsafeBufferPointer { samples in
            layer.alpha.withUnsafeBufferPointer { alpha in
                guard let color = samples.baseAddress, let mask = alpha.baseAddress else { return }
                for row in max(0, -top)..<max(max(0, -top), min(layer.spans.count, target.height - top)) {
                    let first = max(layer.spans[row].lowerBound, -left)
                    let last = min(layer.spans[row].upperBound, target.width - left)
                    guard first < last else { continue }
                    let start = row * width + first
                    TargetPlane.over(
                        color + start, mask + start, opacity: opacity, at: target.row(top + row) + left + first,
                        count: last - first)
                }
            }
        }
    }
}

extension TargetPlane {
    /// Draws `count` samples over the samples at `target`. The opacity of each sample is its `alpha` (0 to 255)
    /// multiplied by `opacity` (0 to 128).
    fileprivate static func over(
        _ color: UnsafePointer<UInt8>, _ alpha: UnsafePointer<UInt8>, opacity: UInt16,
        at target: UnsafeMutablePointer<UInt8>, count: Int
    ) {
        for x in 0..<count {
            let opaque = UInt16(alpha[x])
            // The weight is from 0 to 256. At 256 nothing of the old sample remains.
            let weight = ((opaque &+ opaque &>> 7) &* opacity) &>> 7
            let value = UInt16(target[x]) &* (256 &- weight) &+ UInt16(color[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: value &>> 8)
        }
    }
}

extension Canvas {
    /// Draws `frame`, which must have the canvas's size, with its own alpha multiplied by `opacity`, from 0 to 1. Draws
    /// nothing if the frame has no alpha.
    package mutating func draw(stinger frame: VideoFrame, opacity: Double) {
        guard let storage = frame.storage as? any AlphaFrameStorage else { return }
        storage.withAlpha { draw(frame, alpha: $0, opacity: opacity) }
    }

    /// Draws `frame`, which must have the canvas's size, with `alpha` multiplied by `opacity`, from 0 to 1. `alpha` is
    /// a plane with the size of the luma plane, in which 255 is opaque. Colors are not premultiplied. This is for
    /// stingers: videos with alpha that are shown over a change of scene.
    package mutating func draw(_ frame: VideoFrame, alpha: Planes.Plane, opacity: Double = 1) {
        precondition(frame.width == width && frame.height == height, "a stinger has the program's size")
        let weight = UInt16((min(1, max(0, opacity)) * 128).rounded())
        guard weight > 0 else { return }
        let target = target
        let mask = SourcePlane(alpha, width: width, height: height)
        frame.withPlanes { source in
            for y in 0..<height {
                TargetPlane.over(source.y.row(y), mask.row(y), opacity: weight, at: target.y.row(y), count: width)
            }
            for y in 0..<height / 2 {
                let upper = mask.row(2 * y)
                let (u, v, stride) = (target.u.row(y), target.v.row(y), mask.stride)
                TargetPlane.over(source.u.row(y), upper, stride: stride, opacity: weight, at: u, count: width / 2)
                TargetPlane.over(source.v.row(y), upper, stride: stride, opacity: weight, at: v, count: width / 2)
            }
        }
    }
}

extension TargetPlane {
    /// Draws `count` chroma samples over the samples at `target`. The alpha of a chroma sample is the mean of the alpha
    /// of its four luma samples. These are in two rows, `stride` bytes apart, and each load fetches two of them.
    fileprivate static func over(
        _ color: UnsafePointer<UInt8>, _ alpha: UnsafePointer<UInt8>, stride: Int, opacity: UInt16,
        at target: UnsafeMutablePointer<UInt8>, count: Int
    ) {
        let (upper, lower) = (UnsafeRawPointer(alpha), UnsafeRawPointer(alpha + stride))
        for x in 0..<count {
            let a = upper.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
            let b = lower.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
            let opaque = ((a & 255) &+ (a &>> 8) &+ (b & 255) &+ (b &>> 8) &+ 2) &>> 2
            let weight = ((opaque &+ opaque &>> 7) &* opacity) &>> 7
            let value = UInt16(target[x]) &* (256 &- weight) &+ UInt16(color[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: value &>> 8)
        }
    }
}
