// SPDX-License-Identifier: Apache-2.0

/// Rounds the corners of a drawn rectangle: outside the arcs, it restores the pixels that were there before.
///
/// The object keeps the masks for the last radius, and reuses its memory. Only one thread may use it at a time.
final class RoundedCorners {
    /// The arc's radius in luma samples, which is even. A square with this side length surrounds the arc of each
    /// corner.
    private var radius = 0
    /// For each pixel in the square of the upper left corner, how much of it lies inside the arc, in parts of 256.
    private let luma = Scratch<UInt16>()
    private let chroma = Scratch<UInt16>()
    private let saved = Scratch<UInt8>()

    /// Saves the pixels in the corner squares of `rectangle`, and computes the mask for `radius`, which must be even.
    func save(_ rectangle: PixelRectangle, radius: Int, of target: TargetPlanes) {
        if radius != self.radius { makeMask(radius) }
        _ = saved.reserve(6 * radius * radius)
        forEachRow(of: rectangle, in: target) { pixels, kept, count in kept.update(from: pixels, count: count) }
    }

    /// Restores the pixels in the corner squares of `rectangle` that ``save(_:radius:of:)`` saved.
    func restore(_ rectangle: PixelRectangle, of target: TargetPlanes) {
        forEachRow(of: rectangle, in: target) { pixels, kept, count in pixels.update(from: kept, count: count) }
    }

    /// Rounds the corners of `rectangle`. Call ``save(_:radius:of:)`` before drawing the rectangle.
    func round(_ rectangle: PixelRectangle, of target: TargetPlanes) {
        guard radius > 0 else { return }
        var store = UnsafePointer(saved.base)
        forEachCorner(of: rectangle, in: target) { plane, square, weights, isRight, isLow in
            let visible = square.intersection(plane.bounds)
            for y in visible.y..<visible.y + visible.height {
                let line = isLow ? square.height - 1 - (y - square.y) : y - square.y
                let row = plane.row(y)
                for x in visible.x..<visible.x + visible.width {
                    let column = isRight ? square.width - 1 - (x - square.x) : x - square.x
                    let weight = UInt32(weights[line * square.width + column])
                    let value = UInt32(row[x]) * weight + UInt32(store[x - visible.x]) * (256 - weight) + 128
                    row[x] = UInt8(truncatingIfNeeded: value >> 8)
                }
                store += visible.width
            }
        }
    }

    /// Calls `body` for each visible row of the corner squares, with its pixels, its place in the saved pixels, and its
    /// length.
    private func forEachRow(
        of rectangle: PixelRectangle, in target: TargetPlanes,
        _ body: (_ pixels: UnsafeMutablePointer<UInt8>, _ kept: UnsafeMutablePointer<UInt8>, _ count: Int) -> Void
    ) {
        guard radius > 0 else { return }
        var store = saved.base
        forEachCorner(of: rectangle, in: target) { plane, square, _, _, _ in
            let visible = square.intersection(plane.bounds)
            for y in visible.y..<visible.y + visible.height {
                body(plane.row(y) + visible.x, store, visible.width)
                store += visible.width
            }
        }
    }

    /// Calls `body` with each corner of each plane, always in the same order. The arguments are the plane, the corner's
    /// square in the plane, the mask, and which corner it is.
    private func forEachCorner(
        of rectangle: PixelRectangle, in target: TargetPlanes,
        _ body: (TargetPlane, PixelRectangle, UnsafePointer<UInt16>, _ isRight: Bool, _ isLow: Bool) -> Void
    ) {
        func corners(_ plane: TargetPlane, _ rectangle: PixelRectangle, _ size: Int, _ weights: Scratch<UInt16>) {
            for corner in 0..<4 {
                let (isRight, isLow) = (corner % 2 == 1, corner >= 2)
                let square = PixelRectangle(
                    x: isRight ? rectangle.x + rectangle.width - size : rectangle.x,
                    y: isLow ? rectangle.y + rectangle.height - size : rectangle.y, width: size, height: size)
                body(plane, square, weights.base, isRight, isLow)
            }
        }
        corners(target.y, rectangle, radius, luma)
        corners(target.u, rectangle.halved, radius / 2, chroma)
        corners(target.v, rectangle.halved, radius / 2, chroma)
    }

    private func makeMask(_ radius: Int) {
        self.radius = radius
        let (luma, half) = (luma.reserve(radius * radius), radius / 2)
        let chroma = chroma.reserve(half * half)
        for y in 0..<radius {
            for x in 0..<radius {
                // Within one pixel an arc is nearly straight. So the part of a pixel that lies inside the arc is a
                // linear function of the pixel's distance from the center.
                let (dx, dy) = (Double(radius - x) - 0.5, Double(radius - y) - 0.5)
                let covered = Double(radius) - (dx * dx + dy * dy).squareRoot() + 0.5
                luma[y * radius + x] = UInt16((min(1, max(0, covered)) * 256).rounded())
            }
        }
        for index in 0..<half * half {
            let corner = luma + (index / half * 2 * radius + index % half * 2)
            chroma[index] = (corner[0] + corner[1] + corner[radius] + corner[radius + 1] + 2) / 4
        }
    }
}
