// SPDX-License-Identifier: Apache-2.0

/// A region where one layer covers another, and the layer behind shows through. This happens while two layers exchange
/// their order.
struct Overlap {
    /// The rectangle of the layer behind, with its border. In a luma plane all numbers are even.
    private let place: PixelRectangle
    /// The corner radius of that rectangle; even in a luma plane.
    private let radius: Int
    /// Opacity of the layer in front, in parts of 256.
    private let opacity: UInt16

    /// Creates the region of the rectangle `place`, whose corners have the given radius. Samples that are drawn inside
    /// the region are mixed with the existing samples. `opacity`, from 0 to 1, is the weight of the drawn samples.
    init(_ place: PixelRectangle, radius: Int, opacity: Double) {
        self.init(place, radius, UInt16((min(1, max(0, opacity)) * 256).rounded()))
    }

    private init(_ place: PixelRectangle, _ radius: Int, _ opacity: UInt16) {
        (self.place, self.radius, self.opacity) = (place, radius, opacity)
    }

    /// The same region in a chroma plane.
    var halved: Overlap { Overlap(place.halved, radius / 2, opacity) }

    /// Draws `count` samples into row `y`, from column `x` on. Inside the region they are mixed with the existing
    /// samples.
    func draw(_ samples: UnsafePointer<UInt8>, count: Int, atX x: Int, y: Int, in target: TargetPlane) {
        let (row, shared) = (target.row(y), columns(ofRow: y, in: x..<x + count))
        (row + x).update(from: samples, count: shared.lowerBound - x)
        TargetPlane.mix(
            samples + (shared.lowerBound - x), weight: opacity, count: shared.count, over: row + shared.lowerBound)
        (row + shared.upperBound).update(from: samples + (shared.upperBound - x), count: x + count - shared.upperBound)
    }

    /// Fills `rectangle`, which is inside `target`. Inside the region, `value` is mixed with the existing samples.
    func fill(_ rectangle: PixelRectangle, with value: UInt8, in target: TargetPlane) {
        guard !rectangle.isEmpty else { return }
        let whole = rectangle.x..<rectangle.x + rectangle.width
        for y in rectangle.y..<rectangle.y + rectangle.height {
            let (row, shared) = (target.row(y), columns(ofRow: y, in: whole))
            let (place, end) = (row + shared.lowerBound, row + shared.upperBound)
            (row + whole.lowerBound).update(repeating: value, count: shared.lowerBound - whole.lowerBound)
            TargetPlane.mix(place, with: value, weight: opacity, count: shared.count, into: place)
            end.update(repeating: value, count: whole.upperBound - shared.upperBound)
        }
    }

    /// The part of `columns` that the region covers in row `y`, without the columns that the arc of a rounded corner
    /// crosses.
    private func columns(ofRow y: Int, in columns: Range<Int>) -> Range<Int> {
        let line = min(y - place.y, place.y + place.height - 1 - y)
        guard line >= 0, place.width > 0 else { return columns.lowerBound..<columns.lowerBound }
        var corner = 0
        if line < radius {
            let (height, reach) = (Double(radius - line) - 0.5, Double(radius) - 0.5)
            corner = Int((reach - max(0, reach * reach - height * height).squareRoot()).rounded(.up))
        }
        return (place.x + corner..<max(place.x + corner, place.x + place.width - corner)).clamped(to: columns)
    }
}
