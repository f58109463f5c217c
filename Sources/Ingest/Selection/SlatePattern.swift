// SPDX-License-Identifier: Apache-2.0

package import Media

/// What is shown while there is nothing else: 75 % color bars with lines of text in front.
package enum SlatePattern {
    /// The frame in `format`, with `lines` in capitals in its middle.
    package static func frame(_ format: VideoFormat, lines: [String]) -> VideoFrame {
        let storage = FrameBuffer(width: format.width, height: format.height) { pixels in
            var canvas = Canvas(pixels: pixels, width: format.width, height: format.height)
            let colors = TestColors(format.color)
            canvas.drawBars(colors)
            canvas.write(lines.map { Array($0.uppercased().utf8) }, colors)
        }
        return VideoFrame(
            pts: 0, timeBase: format.frameRate.timeBase, duration: 1, width: format.width, height: format.height,
            storage: storage)
    }

    /// A packed 4:2:0 frame that is drawn on.
    private struct Canvas {
        let pixels: UnsafeMutableRawBufferPointer
        let width: Int
        let height: Int

        mutating func drawBars(_ colors: TestColors) {
            for column in 0..<width {
                let color = colors.bars[column * colors.bars.count / width]
                fill(column..<column + 1, 0..<height, color)
            }
        }

        /// Writes lines, each as large as fits, on a black field in the middle.
        mutating func write(_ lines: [[UInt8]], _ colors: TestColors) {
            let longest = max(1, lines.map(\.count).max() ?? 1)
            let scale = max(
                1, min(width * 6 / 10 / (longest * BitmapFont.advance), height / (12 * max(1, lines.count))))
            let lineHeight = (BitmapFont.height + 4) * scale
            let field = (
                width: min(width, (longest + 2) * BitmapFont.advance * scale),
                height: min(height, lines.count * lineHeight + 4 * scale)
            )
            let (left, top) = ((width - field.width) / 2 & ~1, (height - field.height) / 2 & ~1)
            let black = TestColors.Color(y: colors.black.y, u: 128, v: 128)
            fill(left..<min(width, left + field.width & ~1), top..<min(height, top + field.height & ~1), black)
            for (number, line) in lines.enumerated() {
                let x = (width - line.count * BitmapFont.advance * scale) / 2
                write(line, x: x, y: top + 4 * scale + number * lineHeight, scale, colors.white.y)
            }
        }

        private mutating func write(_ line: [UInt8], x: Int, y: Int, _ scale: Int, _ luma: UInt8) {
            for (index, character) in line.enumerated() {
                let left = x + index * BitmapFont.advance * scale
                for (row, bits) in BitmapFont.rows(of: character).enumerated() {
                    for column in 0..<BitmapFont.width where bits >> (BitmapFont.width - 1 - column) & 1 == 1 {
                        let (dotX, dotY) = (left + column * scale, y + row * scale)
                        for line in max(0, dotY)..<max(0, min(height, dotY + scale)) {
                            for dot in max(0, dotX)..<max(0, min(width, dotX + scale)) {
                                pixels[line * width + dot] = luma
                            }
                        }
                    }
                }
            }
        }

        /// Fills an area, whose chroma is that of its even columns and rows.
        private mutating func fill(_ columns: Range<Int>, _ rows: Range<Int>, _ color: TestColors.Color) {
            let luma = width * height
            for row in rows {
                for column in columns {
                    pixels[row * width + column] = color.y
                    guard row % 2 == 0, column % 2 == 0 else { continue }
                    let chroma = luma + row / 2 * (width / 2) + column / 2
                    pixels[chroma] = color.u
                    pixels[chroma + luma / 4] = color.v
                }
            }
        }
    }
}
