// SPDX-License-Identifier: Apache-2.0

package import Media

/// The frame that is shown while no source has video: 75 % color bars with lines of text in front of them.
package enum SlatePattern {
    /// The height that one line of text needs, in dots of the font. This height limits the size of a dot.
    private static let rowsPerDot = 12

    /// The frame in `format`, with `lines` in capitals in its middle. A line that is wider than the frame is shortened.
    package static func frame(_ format: VideoFormat, lines: [String]) -> VideoFrame {
        let storage = FrameBuffer(width: format.width, height: format.height) { pixels in
            let canvas = PatternCanvas(pixels: pixels, width: format.width, height: format.height)
            let colors = TestColors(format.color)
            drawBars(colors, on: canvas)
            write(lines.map(BitmapFont.characters), colors, on: canvas)
        }
        return VideoFrame(
            pts: 0, timeBase: format.frameRate.timeBase, duration: 1, width: format.width, height: format.height,
            storage: storage)
    }

    private static func drawBars(_ colors: TestColors, on canvas: PatternCanvas) {
        for column in 0..<canvas.width {
            let color = colors.bars[column * colors.bars.count / canvas.width]
            canvas.fill(x: column, y: 0, width: 1, height: canvas.height, with: color)
        }
    }

    /// Draws `lines` in the middle, on a black field. The dots of the font are as large as possible within three fifths
    /// of the frame's width. If lines do not fit there even with the smallest dots, they can use the whole width; a
    /// line that is still too long ends with two dots.
    private static func write(_ lines: [[UInt8]], _ colors: TestColors, on canvas: PatternCanvas) {
        let lines = lines.map { BitmapFont.shortened($0, to: canvas.width / BitmapFont.advance) }
        let longest = max(1, lines.map(\.count).max() ?? 1)
        let across = canvas.width * 6 / 10 / (longest * BitmapFont.advance)
        let scale = max(1, min(across, canvas.height / (rowsPerDot * max(1, lines.count))))
        let lineHeight = (BitmapFont.height + 4) * scale
        let field = (
            width: min(canvas.width, (longest + 2) * BitmapFont.advance * scale),
            height: min(canvas.height, lines.count * lineHeight + 4 * scale)
        )
        let (left, top) = ((canvas.width - field.width) / 2 & ~1, (canvas.height - field.height) / 2 & ~1)
        let black = TestColors.Color(y: colors.black.y, u: 128, v: 128)
        canvas.fill(x: left, y: top, width: field.width & ~1, height: field.height & ~1, with: black)
        for (number, line) in lines.enumerated() {
            let x = (canvas.width - line.count * BitmapFont.advance * scale) / 2
            canvas.write(line, x: x, y: top + 4 * scale + number * lineHeight, scale: scale, luma: colors.white.y)
        }
    }
}
