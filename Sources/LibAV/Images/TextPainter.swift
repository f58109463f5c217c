// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// Draws the parts of a line of text with libavfilter's `drawtext`. The parts fit together: each part begins at the
/// pen, which is the position after the previous part, and all parts have the same baseline. Only one thread may use it
/// at a time; it blocks.
package final class TextPainter {
    /// A drawn part of a line: the coverage of each pixel by the letters and by their outline. It is as high as the
    /// line.
    package struct Drawing: Sendable {
        /// From 0 to 255: `letter` is how much of each pixel the letters cover, and `outline` is how much of it the
        /// letters or their outline cover.
        package var letter: [UInt8]
        package var outline: [UInt8]
        package var width: Int
        /// In columns: `offset` is the distance from the pen to the left edge, and `advance` is the distance to the
        /// next pen position.
        package var offset: Int
        package var advance: Int
    }

    /// The line's height in rows; even.
    package let height: Int
    private let size: Int
    private let border: Int
    private let widest: Int
    private let font: String
    private var widths: [String: Int] = [:]

    /// Creates a painter for lines of `height` rows and at most `widest` columns. It uses the font file `font`, or the
    /// system's default font.
    package init(height: Int, widest: Int, font: String?) {
        self.height = max(8, height / 2 * 2)
        size = max(6, self.height * 4 / 5)
        border = max(1, size / 16)
        self.widest = widest
        self.font = font.map { ":fontfile=\(Self.escaped($0))" } ?? ""
    }

    /// Draws `text`. Throws if there is no font or no libavfilter.
    package func draw(_ text: String) throws(AVFailure) -> Drawing {
        // The advance of the text is the distance by which the text moves a digit that follows.
        let advance = try width(of: "0\(text)0") - width(of: "00")
        let margin = size
        let columns = min(widest, max(0, advance)) + 2 * margin
        let rows = try paint(text, columns: columns, at: margin)
        let all = 0..<columns
        let used = all.filter { column in (0..<height).contains { rows.outline[$0 * columns + column] > 0 } }
        guard let first = used.first.map({ $0 / 2 * 2 }), let last = used.last else {
            return Drawing(letter: [], outline: [], width: 0, offset: 0, advance: Self.even(advance))
        }
        let width = last + 1 - first
        let cut = { (plane: [UInt8]) in
            (0..<self.height).flatMap { plane[$0 * columns + first..<$0 * columns + first + width] }
        }
        return Drawing(
            letter: cut(rows.letter), outline: cut(rows.outline), width: width, offset: first - margin / 2 * 2,
            advance: Self.even(advance))
    }

    /// Rounds up to an even number of columns: the pen is always on an even column, so that it aligns with chroma
    /// samples.
    private static func even(_ length: Int) -> Int { (length + 1) / 2 * 2 }

    /// The distance from the first painted column of `text` to its last.
    private func width(of text: String) throws(AVFailure) -> Int {
        if let known = widths[text] { return known }
        let columns = min(widest, text.count * size * 2) + 2 * size
        let rows = try paint(text, columns: columns, at: size)
        let used = (0..<columns).filter { column in (0..<height).contains { rows.outline[$0 * columns + column] > 0 } }
        let width = (used.last ?? 0) - (used.first ?? 0)
        widths[text] = width
        return width
    }

    /// Draws `text` with the pen in column `pen`, on the baseline of the line.
    private func paint(
        _ text: String, columns: Int, at pen: Int
    ) throws(AVFailure) -> (letter: [UInt8], outline: [UInt8]) {
        _ = Library.prepared
        // On a black background, the outline is green and the letters are yellow. So the red value of a pixel is its
        // coverage by the letters, and the green value its coverage by the letters or their outline.
        let graph = try FilterGraph(
            "format=rgb24,drawtext=expansion=none:fontsize=\(size):fontcolor=0xffff00:bordercolor=0x00ff00"
                + ":borderw=\(border):x=\(pen / 2 * 2):y=\(size * 19 / 20 + border)-max_glyph_a\(font)"
                + ":text=\(Self.escaped(text))",
            from: "color", to: "buffersink", threads: 1, input: "c=black:s=\(columns)x\(height):r=1",
            operation: "draw", subject: "text")
        guard let frame = try graph.pull() else {
            throw AVFailure(operation: "draw", subject: "text", code: AVFailure.invalidData)
        }
        let pixels = frame.packedRows(bytesPerPixel: 3)
        let count = columns * height
        return ((0..<count).map { pixels[$0 * 3] }, (0..<count).map { pixels[$0 * 3 + 1] })
    }

    /// Escapes an option's value for a filter chain (ffmpeg-filters(1), "Notes on filtergraph escaping").
    private static func escaped(_ text: String) -> String {
        let option = text.reduce(into: "") { $0 += "\\':".contains($1) ? "\\\($1)" : String($1) }
        return option.reduce(into: "") { $0 += "\\'[],;".contains($1) ? "\\\($1)" : String($1) }
    }
}
