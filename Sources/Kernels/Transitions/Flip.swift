// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension TransitionRenderer {
    /// Draws a card that turns about its vertical axis, with `a` on the front and `b` on the back. Its visible width is
    /// proportional to the cosine of its angle.
    ///
    /// Each row is halved until the remaining reduction is by less than two, and is then interpolated. So a card that
    /// is nearly edge-on does not flicker.
    func flipHorizontally(
        _ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, before color: PixelColor, _ target: TargetPlanes
    ) {
        let shown = progress < 0.5 ? a : b
        let seen = Self.seen(progress, of: width)
        draw(shown.y, seen, lumaX, color.y, into: target.y)
        draw(shown.u, seen / 2, chromaX, color.u, into: target.u)
        draw(shown.v, seen / 2, chromaX, color.v, into: target.v)
    }

    /// Like ``flipHorizontally(_:_:_:before:_:)``, but the card turns about its horizontal axis. Each row is the mean
    /// of the source rows that it covers.
    func flipVertically(
        _ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, before color: PixelColor, _ target: TargetPlanes
    ) {
        let shown = progress < 0.5 ? a : b
        let seen = Self.seen(progress, of: height)
        drawRows(shown.y, seen, lumaY, color.y, into: target.y)
        drawRows(shown.u, seen / 2, chromaY, color.u, into: target.u)
        drawRows(shown.v, seen / 2, chromaY, color.v, into: target.v)
    }

    /// The visible width or height of the card. It is chosen so that both edges of the card are on even pixels.
    private static func seen(_ progress: Double, of whole: Int) -> Int {
        let wanted = abs(cos(progress * .pi)) * Double(whole)
        // The card loses the same even number of pixels on both sides.
        return max(0, whole - Int(((Double(whole) - wanted) / 4).rounded()) * 4)
    }

    private func draw(
        _ source: SourcePlane, _ seen: Int, _ table: AxisTable, _ background: UInt8, into target: TargetPlane
    ) {
        let edge = (target.width - seen) / 2
        guard seen > 0 else { return target.fill(target.bounds, with: background) }
        var halvings = 0
        while source.width >> halvings >= 2 * seen, source.width >> halvings >= 4 { halvings += 1 }
        let count = source.width >> halvings
        table.prepare(
            .init(
                count: count, start: 0, length: Double(source.width) / Double(1 << halvings), target: seen, first: 0,
                visible: seen, isLinear: true))
        let scratch = rows.reserve(source.width)
        for y in 0..<target.height {
            let row = target.row(y)
            memset(row, Int32(background), edge)
            memset(row + edge + seen, Int32(background), target.width - edge - seen)
            table.scale(Self.halve(source.row(y), source.width, halvings, scratch), into: row + edge)
        }
    }

    /// Halves a row `times` times and returns the result. `scratch` is temporary memory for one row.
    private static func halve(
        _ row: UnsafePointer<UInt8>, _ width: Int, _ times: Int, _ scratch: UnsafeMutablePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        var (source, count) = (row, width)
        // The results alternate between the two halves of the memory: a loop that writes to the place from which it
        // reads would not be vectorized.
        for time in 0..<times {
            count /= 2
            let target = time % 2 == 0 ? scratch : scratch + width / 2
            let pairs = UnsafeRawPointer(source)
            for x in 0..<count {
                let pair = pairs.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
                target[x] = UInt8(truncatingIfNeeded: ((pair & 255) &+ (pair &>> 8) &+ 1) &>> 1)
            }
            source = UnsafePointer(target)
        }
        return source
    }

    private func drawRows(
        _ source: SourcePlane, _ seen: Int, _ table: AxisTable, _ background: UInt8, into target: TargetPlane
    ) {
        let edge = (target.height - seen) / 2
        target.fill(PixelRectangle(x: 0, y: 0, width: target.width, height: edge), with: background)
        target.fill(
            PixelRectangle(x: 0, y: edge + seen, width: target.width, height: target.height - edge - seen),
            with: background)
        guard seen > 0 else { return }
        table.prepare(
            .init(count: source.height, start: 0, length: Double(source.height), target: seen, first: 0, visible: seen))
        let sums = sums.reserve(source.width)
        for y in 0..<seen {
            let row = target.row(edge + y)
            let made = table.blend(source, row: y, sums: sums, into: row)
            if made != UnsafePointer(row) { memcpy(row, made, source.width) }
        }
    }
}
