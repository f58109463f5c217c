// SPDX-License-Identifier: Apache-2.0

package import Media

/// Draws a source at its place: one for each place of a scene, since it keeps what it computed for a size.
///
/// Where nothing is scaled, rows are copied; a reduction by whole numbers is a mean of boxes, any other one the mean of
/// what a pixel covers; what is enlarged is interpolated. Luma and chroma are scaled as planes, edge on edge, as
/// libswscale does. A frame allocates nothing unless its size is new. Of one thread at a time.
package final class Scaler {
    private let lumaX = AxisTable()
    private let lumaY = AxisTable()
    private let chromaX = AxisTable()
    private let chromaY = AxisTable()
    private let row = Scratch<UInt8>()
    private let sums = Scratch<UInt16>()
    private let innerCorners = RoundedCorners()
    private let outerCorners = RoundedCorners()

    /// A scaler that has computed nothing yet.
    package init() {}

    /// Draws `frame` on `canvas`. What lies outside of it is cut off.
    package func draw(_ frame: VideoFrame, at placement: Placement, on canvas: inout Canvas) {
        let place = PixelPlacement(placement, of: frame, program: (canvas.width, canvas.height))
        guard !place.destination.isEmpty else { return }
        let target = canvas.target
        frame.withPlanes { source in
            draw(source, at: place, color: placement.border?.color, into: target)
        }
    }

    private func draw(_ source: SourcePlanes, at place: PixelPlacement, color: PixelColor?, into target: TargetPlanes) {
        outerCorners.save(place.outer, radius: place.outerRadius, of: target)
        if let color, place.border > 0 {
            fillBorder(of: place, with: color, in: target)
            innerCorners.save(place.destination, radius: place.radius, of: target)
            draw(source, in: place, into: target)
            innerCorners.round(place.destination, of: target)
        } else {
            draw(source, in: place, into: target)
        }
        outerCorners.round(place.outer, of: target)
    }

    /// Fills what is around the destination, and the squares of its corners.
    private func fillBorder(of place: PixelPlacement, with color: PixelColor, in target: TargetPlanes) {
        let (outer, inner, width) = (place.outer, place.destination, place.border)
        let corner = place.radius
        func fill(_ x: Int, _ y: Int, _ width: Int, _ height: Int) {
            let part = PixelRectangle(x: x, y: y, width: width, height: height).intersection(target.y.bounds)
            target.fill(part, with: color)
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

    private func draw(_ source: SourcePlanes, in place: PixelPlacement, into target: TargetPlanes) {
        let visible = place.destination.intersection(target.y.bounds)
        guard !visible.isEmpty else { return }
        let (from, to) = (place.source, place.destination)
        draw(source.y.cropped(to: from), at: to, visible: visible, into: target.y, lumaX, lumaY)
        let (chroma, small, part) = (from.halved, to.halved, visible.halved)
        draw(source.u.cropped(to: chroma), at: small, visible: part, into: target.u, chromaX, chromaY)
        draw(source.v.cropped(to: chroma), at: small, visible: part, into: target.v, chromaX, chromaY)
    }

    private func draw(
        _ source: SourcePlane, at place: PixelRectangle, visible: PixelRectangle, into target: TargetPlane,
        _ tableX: AxisTable, _ tableY: AxisTable
    ) {
        let (columns, rows) = (source.width / place.width, source.height / place.height)
        let isWhole = columns * place.width == source.width && rows * place.height == source.height
        if isWhole, columns == 1, rows == 1 {
            let part = PixelRectangle(
                x: visible.x - place.x, y: visible.y - place.y, width: visible.width, height: visible.height)
            target.copy(source, part: part, toX: visible.x, y: visible.y)
        } else if isWhole, columns <= BoxReduction.largest, rows <= BoxReduction.largest {
            BoxReduction.draw(
                source, by: columns, rows, origin: (place.x, place.y), part: visible, into: target,
                sums: sums.reserve(source.width))
        } else {
            tableX.prepare(
                .init(
                    count: source.width, start: 0, length: Double(source.width), target: place.width,
                    first: visible.x - place.x, visible: visible.width))
            tableY.prepare(
                .init(
                    count: source.height, start: 0, length: Double(source.height), target: place.height,
                    first: visible.y - place.y, visible: visible.height))
            let (row, sums) = (row.reserve(source.width), sums.reserve(source.width))
            for y in 0..<visible.height {
                let line = tableY.blend(source, row: y, sums: sums, into: row)
                tableX.scale(line, into: target.row(visible.y + y) + visible.x)
            }
        }
    }
}
