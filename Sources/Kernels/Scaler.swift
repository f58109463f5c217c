// SPDX-License-Identifier: Apache-2.0

package import Media

/// Draws frames of a source at a placement. Each layer of a scene has its own scaler, because a scaler keeps its tables
/// for only one size.
///
/// Rows in their original size are copied. A reduction by integer factors computes the mean of each box of samples, and
/// any other reduction the mean of the covered area. Enlargements are interpolated. While a layer's size changes in an
/// animation, the layer is reduced by a power of two and then interpolated, which takes half the time. The edges of
/// luma and chroma planes coincide, as in libswscale. Only frames of a new size need new memory. Only one thread may
/// use a scaler at a time.
package final class Scaler {
    /// The way in which a layer is drawn.
    private struct Manner {
        let isFast: Bool
        let overlap: Overlap?

        /// The same way of drawing, for a chroma plane.
        var halved: Manner { Manner(isFast: isFast, overlap: overlap?.halved) }
    }

    /// The rectangle that a scaled plane fills in the target, and the part of it that is inside the target.
    private struct Place {
        let whole: PixelRectangle
        let visible: PixelRectangle

        var halved: Place { Place(whole: whole.halved, visible: visible.halved) }
    }

    private let lumaX = AxisTable()
    private let lumaY = AxisTable()
    private let chromaX = AxisTable()
    private let chromaY = AxisTable()
    private let reduced = Scratch<UInt8>()
    private let row = Scratch<UInt8>()
    private let line = Scratch<UInt8>()
    private let sums = Scratch<UInt16>()
    private let eight = EightRows()
    private let innerCorners = RoundedCorners()
    private let outerCorners = RoundedCorners()
    private let cornersBelow = RoundedCorners()

    /// Creates a scaler without tables.
    package init() {}

    /// Draws `frame` on `canvas`. Parts outside the canvas are cut off.
    package func draw(_ frame: VideoFrame, at placement: Placement, on canvas: inout Canvas) {
        draw(frame, at: placement, on: &canvas, over: nil)
    }

    /// Draws `frame` on `canvas`. Inside `overlap`, if it is set, the layer behind shows through.
    func draw(_ frame: VideoFrame, at placement: Placement, on canvas: inout Canvas, over overlap: Overlap?) {
        let place = PixelPlacement(placement, of: frame, program: (canvas.width, canvas.height))
        guard !place.destination.isEmpty else { return }
        let (target, manner) = (canvas.target, Manner(isFast: placement.isResizing, overlap: overlap))
        frame.withPlanes { source in
            draw(source, at: place, color: placement.border?.color, manner, into: target)
        }
    }

    private func draw(
        _ source: SourcePlanes, at place: PixelPlacement, color: PixelColor?, _ manner: Manner,
        into target: TargetPlanes
    ) {
        outerCorners.save(place.outer, radius: place.outerRadius, of: target)
        if let color, place.border > 0 {
            // In an overlap, the corners of the layer are mixed with the content behind the layer, and not with the
            // border. So the content in the corners is saved before the border is drawn, and restored before the layer
            // is drawn.
            let isOver = manner.overlap != nil
            if isOver { cornersBelow.save(place.destination, radius: place.radius, of: target) }
            fillBorder(of: place, with: color, over: manner.overlap, in: target)
            innerCorners.save(place.destination, radius: place.radius, of: target)
            if isOver { cornersBelow.restore(place.destination, of: target) }
            draw(source, in: place, manner, into: target)
            innerCorners.round(place.destination, of: target)
        } else {
            draw(source, in: place, manner, into: target)
        }
        outerCorners.round(place.outer, of: target)
    }

    /// Fills the border around the destination, and the squares at the destination's corners.
    private func fillBorder(
        of place: PixelPlacement, with color: PixelColor, over overlap: Overlap?, in target: TargetPlanes
    ) {
        let (outer, inner, width) = (place.outer, place.destination, place.border)
        let corner = place.radius
        func fill(_ x: Int, _ y: Int, _ width: Int, _ height: Int) {
            let part = PixelRectangle(x: x, y: y, width: width, height: height).intersection(target.y.bounds)
            target.fill(part, with: color, over: overlap)
        }
        fill(outer.x, outer.y, outer.width, width)
        fill(outer.x, inner.y + inner.height, outer.width, width)
        fill(outer.x, inner.y, width, inner.height)
        fill(inner.x + inner.width, inner.y, width, inner.height)
        guard corner > 0 else { return }
        for y in [inner.y, inner.y + inner.height - corner] {
            fill(inner.x, y, corner, corner)
            fill(inner.x + inner.width - corner, y, corner, corner)
        }
    }

    private func draw(_ source: SourcePlanes, in place: PixelPlacement, _ manner: Manner, into target: TargetPlanes) {
        let luma = Place(whole: place.destination, visible: place.destination.intersection(target.y.bounds))
        guard !luma.visible.isEmpty else { return }
        let (part, chroma, halved) = (place.source.halved, luma.halved, manner.halved)
        draw(source.y.cropped(to: place.source), at: luma, manner, into: target.y, lumaX, lumaY)
        draw(source.u.cropped(to: part), at: chroma, halved, into: target.u, chromaX, chromaY)
        draw(source.v.cropped(to: part), at: chroma, halved, into: target.v, chromaX, chromaY)
    }

    private func draw(
        _ source: SourcePlane, at place: Place, _ manner: Manner, into target: TargetPlane, _ tableX: AxisTable,
        _ tableY: AxisTable
    ) {
        let (whole, visible) = (place.whole, place.visible)
        let (columns, rows) = (source.width / whole.width, source.height / whole.height)
        let isWhole = columns * whole.width == source.width && rows * whole.height == source.height
        if manner.overlap == nil, isWhole, columns == 1, rows == 1 {
            let part = PixelRectangle(
                x: visible.x - whole.x, y: visible.y - whole.y, width: visible.width, height: visible.height)
            target.copy(source, part: part, toX: visible.x, y: visible.y)
        } else if manner.overlap == nil, isWhole, columns <= BoxReduction.largest, rows <= BoxReduction.largest {
            BoxReduction.draw(
                source, by: columns, rows, origin: (whole.x, whole.y), part: visible, into: target,
                sums: sums.reserve(source.width))
        } else if manner.isFast {
            let (across, down) = Self.factors(columns, rows)
            prepare(tableX, source.width, across, whole.width, visible.x - whole.x, visible.width)
            prepare(tableY, source.height, down, whole.height, visible.y - whole.y, visible.height)
            let source = across * down == 1 ? source : reduce(source, by: across, down)
            scale(source, to: visible, manner, into: target, tableX, tableY)
        } else {
            prepare(tableX, source.width, nil, whole.width, visible.x - whole.x, visible.width)
            prepare(tableY, source.height, nil, whole.height, visible.y - whole.y, visible.height)
            scale(source, to: visible, manner, into: target, tableX, tableY)
        }
    }

    /// Prepares a table that scales `count` samples to `target` samples. It contains the `visible` target samples from
    /// `first` on. For exact scaling `factor` is nil. For fast scaling `factor` is the factor by which the plane is
    /// reduced before the table is applied, and the table interpolates.
    private func prepare(
        _ table: AxisTable, _ count: Int, _ factor: Int?, _ target: Int, _ first: Int, _ visible: Int
    ) {
        table.prepare(
            .init(
                count: count / (factor ?? 1), start: 0, length: Double(count) / Double(factor ?? 1), target: target,
                first: first, visible: visible, isLinear: factor != nil))
    }

    /// The factors by which columns and rows are reduced before interpolation. They are powers of two, because these
    /// are fast, and the ratio that remains is below two. If a layer keeps its aspect ratio, apart from rounding to
    /// even numbers, both factors are equal.
    private static func factors(_ columns: Int, _ rows: Int) -> (across: Int, down: Int) {
        func limited(_ factor: Int) -> Int {
            var power = 1
            while 2 * power <= min(factor, BoxReduction.largest) { power *= 2 }
            return power
        }
        let least = limited(min(columns, rows))
        return max(columns, rows) <= 2 * least ? (least, least) : (limited(columns), limited(rows))
    }

    /// Returns `source` reduced by these factors. Incomplete boxes at the right and lower edges are left out. The
    /// result is valid until the next reduction.
    private func reduce(_ source: SourcePlane, by columns: Int, _ rows: Int) -> SourcePlane {
        let (width, height) = (source.width / columns, source.height / rows)
        let target = TargetPlane(bytes: reduced.reserve(width * height), stride: width, width: width, height: height)
        BoxReduction.draw(
            source, by: columns, rows, origin: (0, 0), part: target.bounds, into: target,
            sums: sums.reserve(source.width))
        return target.source
    }

    private func scale(
        _ source: SourcePlane, to visible: PixelRectangle, _ manner: Manner, into target: TargetPlane,
        _ tableX: AxisTable, _ tableY: AxisTable
    ) {
        guard tableX.taps == 2 else {
            return scaleSingly(source, to: visible, over: manner.overlap, into: target, tableX, tableY)
        }
        let sums = sums.reserve(source.width)
        eight.reserve(width: source.width, length: visible.width)
        for first in stride(from: 0, to: visible.height, by: EightRows.count) {
            let indexes = 0..<min(EightRows.count, visible.height - first)
            for index in indexes {
                let row = eight.row(index)
                let blended =
                    manner.isFast && tableY.taps == 2
                    ? tableY.blendCoarsely(source, row: first + index, into: row)
                    : tableY.blend(source, row: first + index, sums: sums, into: row)
                if blended != UnsafePointer(row) { row.update(from: blended, count: source.width) }
            }
            eight.scale(by: tableX)
            for index in indexes {
                let (line, y) = (eight.line(index), visible.y + first + index)
                if let overlap = manner.overlap {
                    overlap.draw(line, count: visible.width, atX: visible.x, y: y, in: target)
                } else {
                    (target.row(y) + visible.x).update(from: line, count: visible.width)
                }
            }
        }
    }

    /// Scales one row after the other, with tables of any number of taps.
    private func scaleSingly(
        _ source: SourcePlane, to visible: PixelRectangle, over overlap: Overlap?, into target: TargetPlane,
        _ tableX: AxisTable, _ tableY: AxisTable
    ) {
        let (row, sums, line) = (row.reserve(source.width), sums.reserve(source.width), line.reserve(visible.width))
        for index in 0..<visible.height {
            let (y, blended) = (visible.y + index, tableY.blend(source, row: index, sums: sums, into: row))
            guard let overlap else {
                tableX.scale(blended, into: target.row(y) + visible.x)
                continue
            }
            tableX.scale(blended, into: line)
            overlap.draw(line, count: visible.width, atX: visible.x, y: y, in: target)
        }
    }
}

extension TargetPlanes {
    /// Fills `rectangle` with `color`; its coordinates are even and inside the canvas. Inside `overlap`, the color is
    /// mixed with the existing samples.
    fileprivate func fill(_ rectangle: PixelRectangle, with color: PixelColor, over overlap: Overlap?) {
        guard let overlap else { return fill(rectangle, with: color) }
        overlap.fill(rectangle, with: color.y, in: y)
        overlap.halved.fill(rectangle.halved, with: color.u, in: u)
        overlap.halved.fill(rectangle.halved, with: color.v, in: v)
    }
}
