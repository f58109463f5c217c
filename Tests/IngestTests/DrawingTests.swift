// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Ingest

@Suite("Drawing into frames")
struct DrawingTests {
    private static let letters: [String] = [
        "A", "z", "0", ".", ":", "-", "_", " ", "é", "ß", "Ж", "字", "\u{1F3A5}", "\u{1F468}\u{200D}\u{1F469}",
        "e\u{301}", "\u{202E}", "\n", "\r\n", "\t", "\u{0}", "ﷺ", "İ",
    ]

    private func text(_ random: inout SeededRandom) -> String {
        let count = [0, 1, 2, 3, 49, 300].randomElement(using: &random) ?? 0
        return (0..<Int.random(in: 0...count, using: &random))
            .map { _ in Self.letters.randomElement(using: &random) ?? "" }.joined()
    }

    private func format(_ random: inout SeededRandom) -> VideoFormat {
        let lengths = [2, 4, 6, 14, 16, 18, 90, 120, 160, 322, 1080, 2048]
        return VideoFormat(
            width: lengths.randomElement(using: &random) ?? 2, height: lengths.randomElement(using: &random) ?? 2,
            frameRate: FrameRate(25), color: Bool.random(using: &random) ? .bt709 : .bt601With525Lines)
    }

    private func luma(_ frame: VideoFrame) -> [UInt8] {
        frame.storage.withPlanes { planes in
            (0..<frame.height).flatMap { row in
                UnsafeRawBufferPointer(start: planes.y.bytes + row * planes.y.stride, count: frame.width)
            }
        }
    }

    @Test("A slate can be drawn in any size with any text")
    func slates() {
        var random = SeededRandom()
        for _ in 0..<80 {
            let format = format(&random)
            let lines = (0..<Int.random(in: 0...4, using: &random)).map { _ in text(&random) }
            let frame = SlatePattern.frame(format, lines: lines)
            #expect(luma(frame).count == format.width * format.height, "\(lines) in \(format)")
        }
    }

    @Test(
        "In an HDR program the white of a slate has 203 nits, and its bars are as light as in standard range",
        arguments: [(UInt8(16), UInt8(143)), (18, 180)])
    func light(transfer: UInt8, white: UInt8) {
        let color = ColorDescription(primaries: 9, transfer: transfer, matrix: 9, isFullRange: false)
        let colors = TestColors(color)
        #expect(colors.white == TestColors.Color(y: white, u: 128, v: 128))
        #expect(colors.black == TestColors.Color(y: 16, u: 128, v: 128))
        #expect(colors.bars.allSatisfy { $0.y < white })
        let format = VideoFormat(width: 160, height: 120, frameRate: FrameRate(25), color: color)
        #expect(luma(SlatePattern.frame(format, lines: ["NO SIGNAL"])).max() == white)
        let standard = TestColors(.bt709)
        #expect(standard.white.y == 235 && standard.bars[0].y == 180)
    }

    @Test("A name that is wider than the slate is shortened at its end")
    func shortened() {
        let format = VideoFormat(width: 160, height: 120, frameRate: FrameRate(25))
        let name = String(repeating: "CHANNEL", count: 7)
        #expect(name.count == 49)
        let shown = luma(SlatePattern.frame(format, lines: ["NO SIGNAL", name]))
        #expect(shown == luma(SlatePattern.frame(format, lines: ["NO SIGNAL", name.prefix(24) + ".."])))
        #expect(shown != luma(SlatePattern.frame(format, lines: ["NO SIGNAL", name.prefix(23) + ".."])))
    }

    @Test(
        "A text is shortened to the width that is available, down to no letter at all",
        arguments: [-1, 0, 1, 2, 3, 4, 5, 6])
    func lengths(most: Int) {
        let expected = ["", "", "A", "AB", "A..", "AB..", "ABCDE", "ABCDE"][most + 1]
        #expect(BitmapFont.shortened(Array("ABCDE".utf8), to: most) == Array(expected.utf8))
    }

    @Test("Each visible letter takes one position, even if it consists of several Unicode scalars")
    func characters() {
        #expect(BitmapFont.characters(of: "aé\u{1F3A5}e\u{301}\r\n9") == Array("A  E\r9".utf8))
    }

    @Test("The test signal can be drawn in any size, for any frame number")
    func testSignal() {
        var random = SeededRandom()
        for _ in 0..<60 {
            let format = format(&random)
            let pattern = TestPattern(format: format, clock: TestClock(frameRate: format.frameRate, sampleRate: 48_000))
            let any = Int64.random(in: 0...1 << 40, using: &random)
            let numbers: [Int64] = [0, 1, 25, 99_999_999, 100_000_000, .max / 90_000, any]
            for number in numbers {
                let frame = VideoFrame(
                    pts: 0, timeBase: .milliseconds, width: format.width, height: format.height,
                    storage: pattern.frame(number))
                #expect(luma(frame).count == format.width * format.height, "frame \(number) in \(format)")
            }
        }
    }

    @Test("The frame counter lies within the frame in every size that is large enough for the counter")
    func counter() {
        for width in [-2, 0, 1, 2, 3, 159, 160, 161, 8191, Int.max] {
            for height in [-2, 0, 1, 2, 3, 89, 90, 91, 8191, Int.max] {
                guard let layout = FrameCounterCode.layout(width: width, height: height) else { continue }
                #expect(layout.top >= 0 && layout.block <= width / layout.columns)
            }
        }
    }

    @Test("Drawing a rectangle at any place changes exactly its pixels, and drawing a text changes only the frame")
    func places() {
        var random = SeededRandom()
        let (width, height, margin) = (12, 10, 64)
        let far = [Int.min, -1_000_000, Int.max, 1_000_000]
        for _ in 0..<400 {
            func place(_ range: ClosedRange<Int>, _ random: inout SeededRandom) -> Int {
                Int.random(in: 0..<8, using: &random) == 0
                    ? far.randomElement(using: &random) ?? 0 : Int.random(in: range, using: &random)
            }
            let (x, y) = (place(-20...20, &random), place(-20...20, &random))
            let (columns, rows) = (place(-3...20, &random), place(-3...20, &random))
            let text = Bool.random(using: &random) ? BitmapFont.characters(of: text(&random)) : nil
            var bytes = [UInt8](repeating: 7, count: width * height * 3 / 2 + 2 * margin)
            bytes.withUnsafeMutableBytes { all in
                let pixels = UnsafeMutableRawBufferPointer(rebasing: all[margin..<all.count - margin])
                let canvas = PatternCanvas(pixels: pixels, width: width, height: height)
                if let text {
                    canvas.write(text, x: x, y: y, scale: columns, luma: 200)
                } else {
                    canvas.fill(x: x, y: y, width: columns, height: rows, with: 200)
                }
            }
            #expect((bytes.prefix(margin) + bytes.suffix(margin)).allSatisfy { $0 == 7 })
            let inside = bytes[margin..<margin + width * height]
            guard text == nil else { continue }
            func covers(_ place: Int, _ start: Int, _ length: Int) -> Bool {
                let end = start.addingReportingOverflow(max(0, length))
                return place >= start && (end.overflow || place < end.partialValue)
            }
            let expected = (0..<width * height).map { index in
                covers(index % width, x, columns) && covers(index / width, y, rows) ? UInt8(200) : 7
            }
            #expect(Array(inside) == expected, "\(columns) by \(rows) at (\(x), \(y))")
        }
    }
}
