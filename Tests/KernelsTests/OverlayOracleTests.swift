// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import TestSupport
import Testing

@testable import Kernels

@Suite("Images and stingers compared with libavfilter's overlay", .serialized)
struct OverlayOracleTests {
    private static let (width, height) = (96, 56)
    private let pool = FramePool(width: width, height: height)
    private let main = PlainFrame(width: width, height: height, seed: 1)

    /// The result of libavfilter's `overlay`: `front` over the main frame, with the luma of `mask` as its alpha.
    private func filtered(_ front: PlainFrame, _ mask: PlainFrame) throws -> PlainFrame {
        let bytes = try ffmpeg(
            inputs: [main.bytes, front.bytes, mask.bytes], format: "yuv420p", width: Self.width, height: Self.height,
            "[2]extractplanes=y[m];[1][m]alphamerge[o];[0][o]overlay=0:0:format=yuv420")
        return try PlainFrame(yuv420p: bytes, width: Self.width, height: Self.height)
    }

    /// At the last chroma column and row libavfilter averages alpha over fewer luma samples.
    private func expectNear(_ drawn: PlainFrame, _ expected: PlainFrame) {
        for (index, plane) in drawn.planes.enumerated() {
            let difference = plane.difference(expected.planes[index]) { x, y in
                index > 0 && (x == plane.width - 1 || y == plane.height - 1)
            }
            #expect(difference <= 2, "plane \(index)")
        }
    }

    @Test("A stinger's frame mixed with its alpha differs from libavfilter's overlay by at most two levels")
    func stinger() throws {
        let (front, mask) = (
            PlainFrame(width: Self.width, height: Self.height, seed: 2),
            PlainFrame(width: Self.width, height: Self.height, seed: 3)
        )
        var canvas = pool.canvas(showing: main.frame)
        mask.y.samples.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            canvas.draw(front.frame, alpha: .init(bytes: base, stride: Self.width))
        }
        let drawn = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
        expectNear(drawn, try filtered(front, mask))
    }

    @Test(
        "An image of one color with any opacity differs from libavfilter's overlay by at most two levels",
        arguments: [1.0, 0.5])
    func image(opacity: Double) throws {
        let color = RGBColor(red: 200, green: 60, blue: 20)
        var random = SeededRandom(seed: 7)
        let alpha = (0..<Self.width * Self.height).map { _ in UInt8.random(in: 0...255, using: &random) }
        let image = OverlayImage(
            rgba: alpha.flatMap { [color.red, color.green, color.blue, $0] }, width: Self.width, height: Self.height,
            color: .bt709)
        var canvas = pool.canvas(showing: main.frame)
        image.draw(on: &canvas, x: 0, y: 0, opacity: opacity)
        let front = PlainFrame(width: Self.width, height: Self.height, PixelColor(color, in: .bt709))
        var mask = PlainFrame(width: Self.width, height: Self.height, .black)
        mask.y.samples = alpha.map { sample(Double($0) * opacity) }
        let drawn = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
        expectNear(drawn, try filtered(front, mask))
    }
}
