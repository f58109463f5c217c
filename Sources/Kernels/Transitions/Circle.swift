// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension TransitionRenderer {
    /// `b` appears within a centered circle, whose radius grows with the progress. The circle's edge is blurred over
    /// one pixel.
    func circle(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        // At progress 1 the circle, with its blurred edge, reaches beyond the corners of the frame.
        let whole = (Double(width * width + height * height)).squareRoot() / 2 + 1
        let radius = progress * whole
        target.forEach(a, b) { plane, a, b in
            let scale = Double(plane.width) / Double(width)
            for y in 0..<plane.height {
                Self.circleRow(a.row(y), b.row(y), y, radius * scale, plane.width, plane.height, into: plane.row(y))
            }
        }
    }

    private static func circleRow(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ y: Int, _ radius: Double, _ width: Int, _ height: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let (middle, dy) = (Double(width) / 2, Double(y) + 0.5 - Double(height) / 2)
        /// Half the length of the part of the row that is inside a circle of this radius.
        func half(_ radius: Double) -> Double { radius <= abs(dy) ? 0 : (radius * radius - dy * dy).squareRoot() }
        let (outer, inner) = (half(radius + 0.5), half(max(0, radius - 0.5)))
        let first = max(0, Int(middle - outer))
        let last = min(width, Int((middle + outer).rounded(.up)))
        // The pixels from `full` to `end` have their centers inside the circle whose radius is half a pixel smaller.
        let full = inner == 0 ? 0 : min(width, max(0, Int((middle - inner).rounded(.up))))
        let end = inner == 0 ? 0 : max(full, min(width, Int(middle + inner)))
        memcpy(target, a, first)
        memcpy(target + last, a + last, width - last)
        func soft(_ range: Range<Int>) {
            for x in range {
                let dx = Double(x) + 0.5 - middle
                let covered = radius - (dx * dx + dy * dy).squareRoot() + 0.5
                let weight = UInt32(min(1, max(0, covered)) * 256)
                let value = UInt32(a[x]) * (256 - weight) + UInt32(b[x]) * weight + 128
                target[x] = UInt8(truncatingIfNeeded: value >> 8)
            }
        }
        guard full < end else { return soft(first..<last) }
        soft(first..<full)
        memcpy(target + full, b + full, end - full)
        soft(end..<last)
    }
}
