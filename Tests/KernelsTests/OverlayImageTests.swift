// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import TestSupport
import Testing

@testable import Kernels

@Suite("Images over the program")
struct OverlayImageTests {
    private static let (width, height) = (48, 26)
    private let pool = FramePool(width: width, height: height)
    private let main = PlainFrame(width: width, height: height, seed: 1)

    private func drawn(_ image: OverlayImage, x: Int, y: Int, opacity: Double = 1) -> PlainFrame {
        var canvas = pool.canvas(showing: main.frame)
        image.draw(on: &canvas, x: x, y: y, opacity: opacity)
        return PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
    }

    /// The expected result by definition: colors weighted by alpha.
    private func expected(_ pixels: [UInt8], width: Int, height: Int, x: Int, y: Int, opacity: Double) -> PlainFrame {
        func pixel(_ px: Int, _ py: Int) -> (color: PixelColor, alpha: Double) {
            guard px >= 0, py >= 0, px < width, py < height else { return (.black, 0) }
            let at = (py * width + px) * 4
            let color = RGBColor(red: pixels[at], green: pixels[at + 1], blue: pixels[at + 2])
            return (PixelColor(color, in: .bt709), Double(pixels[at + 3]) / 255)
        }
        func chroma(_ plane: PlainPlane, _ part: (PixelColor) -> UInt8) -> PlainPlane {
            PlainPlane(width: plane.width, height: plane.height) { cx, cy in
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map { pixel(2 * cx - x + $0.0, 2 * cy - y + $0.1) }
                let alpha = four.map(\.alpha).reduce(0, +)
                guard alpha > 0 else { return plane[cx, cy] }
                let value = four.map { Double(part($0.color)) * $0.alpha }.reduce(0, +) / alpha
                return sample(Double(plane[cx, cy]) * (1 - alpha / 4 * opacity) + value * alpha / 4 * opacity)
            }
        }
        let luma = PlainPlane(width: main.y.width, height: main.y.height) { px, py in
            let (color, alpha) = pixel(px - x, py - y)
            return sample(Double(main.y[px, py]) * (1 - alpha * opacity) + Double(color.y) * alpha * opacity)
        }
        return PlainFrame([luma, chroma(main.u, \.u), chroma(main.v, \.v)])
    }

    @Test(
        "An overlay image is mixed by its alpha, in luma and chroma, and cropped at the frame's edges",
        arguments: [(0, 0, 1.0), (10, 6, 0.5), (-6, -4, 1), (40, 20, 1), (-60, 0, 1), (0, 90, 1), (6, -300, 1)])
    func draws(x: Int, y: Int, opacity: Double) {
        var random = SeededRandom(seed: 5)
        let (width, height) = (20, 14)
        let pixels = (0..<width * height * 4).map { _ in UInt8.random(in: 0...255, using: &random) }
        let image = OverlayImage(rgba: pixels, width: width, height: height, color: .bt709)
        let expected = expected(pixels, width: width, height: height, x: x, y: y, opacity: opacity)
        #expect(drawn(image, x: x, y: y, opacity: opacity).difference(expected) <= 2)
    }

    @Test("Opaque pixels of an overlay image have exactly their color, and transparent pixels change nothing")
    func ends() {
        let (width, height) = (7, 5)
        let pixels = (0..<width * height).flatMap { index -> [UInt8] in
            index % width < 4 && index / width < 4 ? [255, 255, 255, 255] : [9, 200, 77, 0]
        }
        let image = OverlayImage(rgba: pixels, width: width, height: height, color: .bt709)
        #expect(image.width == 8 && image.height == 6)
        let frame = drawn(image, x: 11, y: 8)
        for (index, plane) in frame.planes.enumerated() {
            let scale = index == 0 ? 1 : 2
            let expected = PlainPlane(width: plane.width, height: plane.height) { x, y in
                let inside = (10 / scale..<14 / scale).contains(x) && (8 / scale..<12 / scale).contains(y)
                return inside ? (index == 0 ? 235 : 128) : main.planes[index][x, y]
            }
            #expect(plane == expected)
        }
    }

    @Test("Each frame of a stinger is mixed by its own alpha")
    func stinger() {
        let stinger = PlainFrame(width: Self.width, height: Self.height, seed: 3)
        var alpha = PlainPlane(width: Self.width, height: Self.height) { x, _ in UInt8(min(255, max(0, x * 8 - 64))) }
        alpha[47, 25] = 255
        var canvas = pool.canvas(showing: main.frame)
        alpha.samples.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            canvas.draw(stinger.frame(in: pool), alpha: .init(bytes: base, stride: Self.width))
        }
        let drawn = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
        for (index, plane) in drawn.planes.enumerated() {
            let expected = PlainPlane(width: plane.width, height: plane.height) { x, y in
                let opaque =
                    index == 0
                    ? Double(alpha[x, y])
                    : (Double(alpha[2 * x, 2 * y]) + Double(alpha[2 * x + 1, 2 * y]) + Double(alpha[2 * x, 2 * y + 1])
                        + Double(alpha[2 * x + 1, 2 * y + 1])) / 4
                let (old, new) = (Double(main.planes[index][x, y]), Double(stinger.planes[index][x, y]))
                return sample(old + (new - old) * opaque / 255)
            }
            #expect(plane.difference(expected) <= 2)
        }
        #expect(drawn.y[0, 0] == main.y[0, 0])
        #expect(drawn.y[45, 10] == stinger.y[45, 10])
    }
}
