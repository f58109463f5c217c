// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A packed 4:2:0 frame on which the test signal and the slate are drawn.
///
/// All drawing is clipped to the frame, so any position and size is safe. Used by one thread at a time, within the
/// closure that lends `pixels`.
struct PatternCanvas {
    /// The limit, in pixels, to which positions and lengths are clamped before they are used in computations. It is far
    /// larger than any frame, and far below the bounds of `Int`.
    private static let farthest = 1 << 20

    /// The frame's pixels: luma, then the two chroma planes, without padding; `width * height * 3 / 2` bytes.
    let pixels: UnsafeMutableRawBufferPointer
    /// The number of luma columns; even.
    let width: Int
    /// The number of luma rows; even.
    let height: Int

    /// Fills the part of a rectangle that is within the frame with `luma`; chroma stays as it is.
    func fill(x: Int, y: Int, width: Int, height: Int, with luma: UInt8) {
        let columns = Self.clipped(x, width, to: self.width)
        guard let start = pixels.baseAddress, !columns.isEmpty else { return }
        for row in Self.clipped(y, height, to: self.height) {
            memset(start + row * self.width + columns.lowerBound, Int32(luma), columns.count)
        }
    }

    /// Fills the part of a rectangle that is within the frame with `color`. A chroma sample belongs to four pixels; it
    /// takes the color of the pixel in the even column and row.
    func fill(x: Int, y: Int, width: Int, height: Int, with color: TestColors.Color) {
        let columns = Self.clipped(x, width, to: self.width)
        let luma = self.width * self.height
        for row in Self.clipped(y, height, to: self.height) {
            for column in columns {
                pixels[row * self.width + column] = color.y
                guard row % 2 == 0, column % 2 == 0 else { continue }
                let chroma = luma + row / 2 * (self.width / 2) + column / 2
                pixels[chroma] = color.u
                pixels[chroma + luma / 4] = color.v
            }
        }
    }

    /// Draws `line` with its upper left corner at (x, y); a dot of the font is `scale` pixels wide and high.
    func write(_ line: [UInt8], x: Int, y: Int, scale: Int, luma: UInt8) {
        let (left, top, dot) = (Self.near(x), Self.near(y), max(1, Self.near(scale)))
        for (index, character) in line.enumerated() {
            let start = left + index * BitmapFont.advance * dot
            guard start < width else { return }
            for (row, bits) in BitmapFont.rows(of: character).enumerated() {
                for column in 0..<BitmapFont.width where bits >> (BitmapFont.width - 1 - column) & 1 == 1 {
                    fill(x: start + column * dot, y: top + row * dot, width: dot, height: dot, with: luma)
                }
            }
        }
    }

    /// Clips the `length` pixels from `start` on to 0..<`limit`. The result is empty if no pixel is within this range.
    private static func clipped(_ start: Int, _ length: Int, to limit: Int) -> Range<Int> {
        let first = min(max(0, near(start)), limit)
        return first..<max(first, min(limit, near(start) + near(length)))
    }

    private static func near(_ value: Int) -> Int { min(max(value, -farthest), farthest) }
}
