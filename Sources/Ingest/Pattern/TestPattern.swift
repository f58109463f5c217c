// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The test signal's frames: 75 % color bars, timecode and frame number, a moving square, a grey ramp with a field that
/// flashes white, and the ``FrameCounterCode``.
///
/// The static parts are drawn once; each frame is a copy of them with a few small rectangles drawn on top.
struct TestPattern {
    private struct Area {
        var x: Int
        var y: Int
        var width: Int
        var height: Int
    }

    private let width: Int
    private let height: Int
    private let white: UInt8
    private let black: UInt8
    private let clock: TestClock
    private let code: FrameCounterCode.Layout?
    private let base: [UInt8]
    private let scale: Int
    private let text: Area
    private let track: Area
    private let flash: Area

    /// Creates a pattern of the size and colors of `format`. The frame counter is omitted if it does not fit, which is
    /// possible only in frames smaller than 160 by 90 pixels.
    init(format: VideoFormat, clock: TestClock) {
        (width, height) = (format.width, format.height)
        (white, black) = format.color.isFullRange ? (255, 0) : (235, 16)
        self.clock = clock
        code = FrameCounterCode.layout(width: width, height: height)
        let usable = code?.top ?? height
        let bars = usable * 6 / 10 & ~1
        let strip = max(2, usable / 8 & ~1)
        let lowest = usable - bars - strip & ~1
        scale = max(1, width / (12 * BitmapFont.advance * 2))
        let textWidth = min(width, 12 * BitmapFont.advance * scale) & ~1
        let textHeight = min(bars, (2 * BitmapFont.height + 3) * scale) & ~1
        text = Area(
            x: (width - textWidth) / 2 & ~1, y: (bars - textHeight) / 2 & ~1, width: textWidth, height: textHeight)
        track = Area(x: 0, y: bars, width: width, height: strip)
        flash = Area(x: width * 3 / 4 & ~1, y: bars + strip, width: width / 4 & ~1, height: max(0, lowest))
        base = Self.draw(format, bars: bars, ramp: bars + strip..<bars + strip + max(0, lowest), text: text)
    }

    /// Draws the frame with this number.
    func frame(_ number: Int64) -> FrameBuffer {
        FrameBuffer(width: width, height: height) { pixels in
            pixels.copyBytes(from: base)
            let canvas = PatternCanvas(pixels: pixels, width: width, height: height)
            let side = track.height
            let path = Int64(max(1, width - side))
            let step = Int64(max(2, width / 160 & ~1))
            let x = Int(number % path * step % path)
            canvas.fill(x: x, y: track.y, width: side, height: side, with: white)
            if clock.flashes(number) {
                canvas.fill(x: flash.x, y: flash.y, width: flash.width, height: flash.height, with: white)
            }
            write(clock.timecode(of: number), y: text.y + scale, on: canvas)
            write(TestClock.padded(number, 8), y: text.y + (BitmapFont.height + 2) * scale, on: canvas)
            drawCode(number, on: canvas)
        }
    }

    private func drawCode(_ number: Int64, on canvas: PatternCanvas) {
        guard let code else { return }
        let bits = FrameCounterCode.bits(of: UInt32(truncatingIfNeeded: number))
        for index in 0..<FrameCounterCode.bitCount
        where bits >> UInt64(FrameCounterCode.bitCount - 1 - index) & 1 == 1 {
            canvas.fill(
                x: index % code.columns * code.block, y: code.top + index / code.columns * code.block,
                width: code.block, height: code.block, with: white)
        }
    }

    private func write(_ line: String, y: Int, on canvas: PatternCanvas) {
        let characters = Array(line.utf8)
        let x = text.x + (text.width - characters.count * BitmapFont.advance * scale) / 2
        canvas.write(characters, x: x, y: y, scale: scale, luma: white)
    }
}

extension TestPattern {
    /// Draws the parts of the frame that do not move.
    private static func draw(_ format: VideoFormat, bars: Int, ramp: Range<Int>, text: Area) -> [UInt8] {
        let (width, height) = (format.width, format.height)
        let colors = TestColors(format.color)
        let luma = width * height
        var pixels = [UInt8](repeating: colors.black.y, count: luma)
        pixels += [UInt8](repeating: 128, count: luma / 2)
        for row in 0..<bars {
            for column in 0..<width {
                let isText =
                    (text.y..<text.y + text.height).contains(row)
                    && (text.x..<text.x + text.width).contains(column)
                if isText { continue }
                let color = colors.bars[column * colors.bars.count / width]
                pixels[row * width + column] = color.y
                let chroma = luma + row / 2 * (width / 2) + column / 2
                pixels[chroma] = color.u
                pixels[chroma + luma / 4] = color.v
            }
        }
        let span = Int(colors.white.y) - Int(colors.black.y)
        for row in ramp {
            for column in 0..<(width * 3 / 4 & ~1) {
                pixels[row * width + column] = UInt8(Int(colors.black.y) + column * span / width)
            }
        }
        return pixels
    }
}

/// The colors of the bars in YCbCr of a given matrix, range and transfer.
struct TestColors {
    struct Color: Hashable {
        var y: UInt8
        var u: UInt8
        var v: UInt8
    }

    let white: Color
    let black: Color
    /// White, yellow, cyan, green, magenta, red, blue at 75 %.
    let bars: [Color]

    init(_ description: ColorDescription) {
        func color(_ ownRed: Double, _ ownGreen: Double, _ ownBlue: Double) -> Color {
            let (red, green, blue) = DrawnLight.coded((ownRed, ownGreen, ownBlue), in: description)
            let weights = LumaWeights(of: description)
            let y = weights.red * red + weights.green * green + weights.blue * blue
            let (u, v) = ((blue - y) / (2 * (1 - weights.blue)), (red - y) / (2 * (1 - weights.red)))
            let full = description.isFullRange
            return Color(
                y: UInt8((full ? 255 * y : 16 + 219 * y).rounded()),
                u: UInt8(min(255, (128 + (full ? 255 : 224) * u).rounded())),
                v: UInt8(min(255, (128 + (full ? 255 : 224) * v).rounded())))
        }
        white = color(1, 1, 1)
        black = color(0, 0, 0)
        let on = 0.75
        bars = [
            color(on, on, on), color(on, on, 0), color(0, on, on), color(0, on, 0), color(on, 0, on),
            color(on, 0, 0), color(0, 0, on),
        ]
    }
}
