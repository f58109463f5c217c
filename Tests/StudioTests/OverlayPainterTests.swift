// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Kernels
@testable import Program
@testable import Studio

@Suite("Drawing of overlays")
struct OverlayPainterTests {
    @Test("A text overlay with any letters and clocks can be drawn in each program size and at each position")
    func texts() throws {
        var random = SeededRandom()
        let texts = [
            "A", "{timecode}", "{time} {timecode}", String(repeating: "W", count: 200),
            String(repeating: "字", count: 200), String(repeating: "e\u{301}", count: 200), "\u{200B}.",
            "\u{1F468}\u{200D}\u{1F469} é ﷺ \u{202E}abc", "a:b'c\\d[e]f,g;h%",
        ]
        let lengths = [16, 18, 90, 160, 1080]
        let (heights, places): ([Double], [Double]) = ([0.01, 0.05, 0.3, 1], [0, 0.5, 1])
        for text in texts {
            for _ in 0..<3 {
                let format = VideoFormat(
                    width: lengths.randomElement(using: &random) ?? 16,
                    height: lengths.randomElement(using: &random) ?? 16, frameRate: FrameRate(25))
                let height = heights.randomElement(using: &random) ?? 1
                let (x, y) = (Double.random(in: 0...1, using: &random), places.randomElement(using: &random) ?? 0)
                let overlay = try OverlaySpecification("title=text:\(text)#height=\(height),x=\(x),y=\(y)")
                let art = try OverlayPainter(format: format).art(of: overlay)
                let pool = FramePool(width: format.width, height: format.height)
                var canvas = pool.canvas()
                for frame in [0, 1, 90_000, 2_160_000] {
                    let time = OverlayTime(
                        of: FrameIndex(Int64(frame)), at: format.frameRate, secondOfDay: frame % 86_400)
                    art.draw(on: &canvas, at: time, level: 1)
                }
                #expect(canvas.finish(pts: 0, timeBase: .milliseconds).width == format.width)
            }
        }
    }

    @Test(
        "If the program's pixels are not square, an image keeps its shape on the screen, whatever its size",
        arguments: [("", 143, 100), ("#width=0.2", 144, 101), ("#height=0.25", 206, 144)])
    func anamorphic(options: String, width: Int, height: Int) throws {
        let directory = try TemporaryDirectory()
        try directory.write([UInt8](), to: "logo.png")
        let overlay = try OverlaySpecification("logo=image:\(directory.path("logo.png"))\(options)")
        let format = VideoFormat(
            width: 720, height: 576, frameRate: FrameRate(25), sampleAspectRatio: SampleAspectRatio(16, 11))
        let size = OverlayPainter(format: format).size(of: overlay, width: 208, height: 100)
        #expect(size.width == width && size.height == height, "\(size)")
    }
}
