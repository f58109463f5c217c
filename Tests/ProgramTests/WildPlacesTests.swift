// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import TestSupport
import Testing

@testable import Kernels
@testable import Program

@Suite("Drawing at any position and in any size")
struct WildPlacesTests {
    private let sizes = [2, 4, 6, 16, 18, 64, 130]

    private func wild(_ random: inout SeededRandom) -> Double {
        let special = [0, -0.0, 1, -1, 0.5, 1e-9, 1e9, -1e9, 1e300, -1e300, .infinity, -.infinity, .nan]
        return Int.random(in: 0..<3, using: &random) == 0
            ? special.randomElement(using: &random) ?? 0 : Double.random(in: -2...2, using: &random)
    }

    private func rectangle(_ random: inout SeededRandom) -> Placement.Rectangle {
        .init(x: wild(&random), y: wild(&random), width: wild(&random), height: wild(&random))
    }

    private func frame(_ random: inout SeededRandom) -> VideoFrame {
        let width = sizes.randomElement(using: &random) ?? 2
        return PlainFrame(width: width, height: sizes.randomElement(using: &random) ?? 2, seed: 1).frame
    }

    @Test("A source can be drawn at any position and in any size without a crash")
    func placements() {
        var random = SeededRandom()
        let scaler = Scaler()
        for _ in 0..<1000 {
            let source = frame(&random)
            let pool = FramePool(
                width: sizes.randomElement(using: &random) ?? 2, height: sizes.randomElement(using: &random) ?? 2)
            let border = Placement.Border(width: wild(&random), color: .black)
            var placement = Placement(
                source: rectangle(&random), destination: rectangle(&random), cornerRadius: wild(&random),
                border: Bool.random(using: &random) ? border : nil)
            if Bool.random(using: &random) {
                placement = placement.interpolated(to: .inset, fraction: Double.random(in: 0...1, using: &random))
            }
            var canvas = pool.canvas()
            canvas.fill(.black)
            scaler.draw(source, at: placement, on: &canvas)
            #expect(canvas.finish(pts: 0, timeBase: .milliseconds).width == pool.width)
        }
    }

    @Test("An overlay image changes only the pixels that it covers, even at and beyond the edges")
    func images() {
        var random = SeededRandom()
        for _ in 0..<1000 {
            let (width, height) = (Int.random(in: 0...9, using: &random), Int.random(in: 0...9, using: &random))
            let image = OverlayImage(
                rgba: [UInt8](repeating: 255, count: width * height * 4), width: width, height: height, color: .bt709)
            let main = PlainFrame(frame(&random))
            let (x, y) = (Int.random(in: -150...150, using: &random), Int.random(in: -150...150, using: &random))
            let pool = FramePool(width: main.y.width, height: main.y.height)
            var canvas = pool.canvas(showing: main.frame)
            image.draw(on: &canvas, x: x, y: y)
            let drawn = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
            var expected = main.y
            for row in 0..<height {
                for column in 0..<width {
                    let (px, py) = ((x & ~1) + column, (y & ~1) + row)
                    guard (0..<main.y.width).contains(px), (0..<main.y.height).contains(py) else { continue }
                    expected[px, py] = 235
                }
            }
            #expect(drawn.y == expected, "\(width) by \(height) at (\(x), \(y))")
        }
    }

    @Test("A clock overlay whose font has no digits draws nothing")
    func noDigits() throws {
        let text = try OverlayText("at {time}")
        let art = OverlayArt(text, x: 0, y: 0, opacity: 1, color: .bt709) { letters in
            letters.first?.isNumber == true
                ? OverlayArt.Glyph(pixels: [], width: 0, height: 8, offset: 0, advance: 4)
                : OverlayArt.Glyph(
                    pixels: [UInt8](repeating: 255, count: 4 * 8 * 4), width: 4, height: 8, offset: 0, advance: 4)
        }
        let main = PlainFrame(width: 64, height: 16, seed: 1)
        var canvas = FramePool(width: 64, height: 16).canvas(showing: main.frame)
        art.draw(on: &canvas, at: OverlayTime(of: 0, at: FrameRate(25), secondOfDay: 100), level: 1)
        let drawn = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds)).y
        #expect(drawn != main.y)
        #expect((8..<12).allSatisfy { drawn[$0, 0] == main.y[$0, 0] })
    }
}
