// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Where a source stands in the program: which part of it, in which rectangle, with which edge. A value that animations
/// interpolate.
///
/// On placing, rectangles are moved to even pixels, so that a chroma sample belongs to the same four pixels before and
/// after. A rectangle may lie partly or wholly outside of the program.
package struct Placement: Sendable, Hashable {
    /// A rectangle in fractions of a width and a height.
    package struct Rectangle: Sendable, Hashable, Codable {
        /// The left edge.
        package var x: Double
        /// The upper edge.
        package var y: Double
        /// The width.
        package var width: Double
        /// The height.
        package var height: Double

        /// A rectangle of these.
        package init(x: Double, y: Double, width: Double, height: Double) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }

        /// Whether both have the same width and height.
        func isAsLarge(as other: Rectangle) -> Bool { (width, height) == (other.width, other.height) }

        /// All there is.
        package static let all = Rectangle(x: 0, y: 0, width: 1, height: 1)

        /// The whole of it that has `aspect` (width to height, as a part of the surrounding's) and is as large as fits: in
        /// its middle, if nothing else is said, or so far from the left edge to the right one, and the upper to the lower.
        package func fitting(aspect: Double, across: Double = 0.5, down: Double = 0.5) -> Rectangle {
            let own = width / height
            let (w, h) = aspect < own ? (height * aspect, height) : (width, width / aspect)
            return Rectangle(x: x + (width - w) * across, y: y + (height - h) * down, width: w, height: h)
        }
    }

    /// A frame of one color around the destination, outside of it.
    package struct Border: Sendable, Hashable {
        /// Its width as a part of the program's height, at most a quarter of it; at least two pixels if it is not 0.
        package var width: Double
        /// Its color.
        package var color: PixelColor

        /// A border of these.
        package init(width: Double, color: PixelColor) { (self.width, self.color) = (width, color) }
    }

    /// The part of the source that is shown, within it.
    package var source: Rectangle
    /// Where it is shown, in the program.
    package var destination: Rectangle
    /// The radius of its corners as a part of the program's height, at most half of it; a border goes around them.
    package var cornerRadius: Double
    /// The border, if it has one.
    package var border: Border?
    /// Where frames with bars stand instead, without these; nil to show them as they are.
    package var shape: Shape?
    /// Whether it is on the way to another size: scaling is to be fast then, as no edge stands still in what is shown.
    var isResizing = false

    /// A placement of these.
    package init(
        source: Rectangle = .all, destination: Rectangle = .all, cornerRadius: Double = 0, border: Border? = nil,
        shape: Shape? = nil
    ) {
        (self.source, self.destination) = (source, destination)
        (self.cornerRadius, self.border, self.shape) = (cornerRadius, border, shape)
    }

    /// The whole source over the whole program.
    package static let full = Placement()

    /// The whole source in the lower right corner: a quarter of the width, with a margin of a fortieth.
    package static let inset = Placement(destination: .init(x: 0.725, y: 0.725, width: 0.25, height: 0.25))

    /// One of two or more parts side by side (or, not `horizontal`, one above the other), filled with the middle of the
    /// source, or, if it `fits`, with all of it.
    package static func part(_ index: Int, of count: Int, horizontal: Bool, fits: Bool = false) -> Placement {
        let (size, start) = (1 / Double(count), Double(index) / Double(count))
        let place =
            horizontal
            ? Rectangle(x: start, y: 0, width: size, height: 1) : Rectangle(x: 0, y: start, width: 1, height: size)
        if fits { return Placement(destination: place.fitting(aspect: 1), shape: Shape(area: place)) }
        let middle = (1 - size) / 2
        let shown =
            horizontal
            ? Rectangle(x: middle, y: 0, width: size, height: 1) : Rectangle(x: 0, y: middle, width: 1, height: size)
        return Placement(source: shown, destination: place, shape: Shape(area: place, fill: 1))
    }

    /// A cell of a grid, counted in rows from the upper left corner, with the whole source as large as fits.
    package static func cell(_ index: Int, columns: Int, rows: Int) -> Placement {
        let (width, height) = (1 / Double(columns), 1 / Double(rows))
        let cell = Rectangle(
            x: Double(index % columns) * width, y: Double(index / columns) * height, width: width, height: height)
        return Placement(destination: cell.fitting(aspect: 1), shape: Shape(area: cell))
    }

    /// The placement that is `fraction` of the way from this one to `other`. A border that only one of them has grows
    /// from nothing, or shrinks to it.
    package func interpolated(to other: Placement, fraction: Double) -> Placement {
        func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * fraction }
        func mix(_ a: UInt8, _ b: UInt8) -> UInt8 { UInt8(min(255, max(0, mix(Double(a), Double(b)).rounded()))) }
        var edge: Border?
        if let color = (border ?? other.border)?.color, let end = (other.border ?? border)?.color {
            let width = mix(border?.width ?? 0, other.border?.width ?? 0)
            edge = Border(
                width: width, color: PixelColor(y: mix(color.y, end.y), u: mix(color.u, end.u), v: mix(color.v, end.v)))
        }
        var placement = Placement(
            source: source.mixed(with: other.source, fraction: fraction),
            destination: destination.mixed(with: other.destination, fraction: fraction),
            cornerRadius: mix(cornerRadius, other.cornerRadius), border: edge,
            shape: Shape.between(self, other, fraction: fraction))
        let isOnTheWay = fraction > 0 && fraction < 1
        placement.isResizing =
            isOnTheWay && !(destination.isAsLarge(as: other.destination) && source.isAsLarge(as: other.source))
        return placement
    }
}

/// A placement in pixels.
struct PixelPlacement: Equatable {
    /// The part of the source. All numbers are even.
    var source: PixelRectangle
    /// Where it is shown. All numbers are even.
    var destination: PixelRectangle
    /// Radius of the corners of `destination`; even, and at most half of a side.
    var radius: Int
    /// Width of the border; even.
    var border: Int

    /// The border's outer edge.
    var outer: PixelRectangle { destination.grown(by: border) }
    /// Radius of the corners of the border's outer edge.
    var outerRadius: Int { radius == 0 ? 0 : radius + border }

    /// Where `frame` stands in a program of this size.
    init(_ placement: Placement, of frame: VideoFrame, program: (width: Int, height: Int)) {
        self.init(placement, source: (frame.width, frame.height), region: frame.region, program: program)
    }

    init(
        _ placement: Placement, source: (width: Int, height: Int), region: FrameRegion? = nil,
        program: (width: Int, height: Int)
    ) {
        var (limits, from, to) = (Placement.Rectangle.all, placement.source, placement.destination)
        if let region, let shape = placement.shape {
            (limits, from, to) = shape.places(of: .init(region, of: source))
        }
        let (x, width) = Self.span(to.x, to.width, of: program.width)
        let (y, height) = Self.span(to.y, to.height, of: program.height)
        destination = PixelRectangle(x: x, y: y, width: width, height: height)
        let scaleX = from.width * Double(source.width) / (to.width * Double(program.width))
        let scaleY = from.height * Double(source.height) / (to.height * Double(program.height))
        let across = Self.limits(limits.x, limits.width, of: source.width)
        let down = Self.limits(limits.y, limits.height, of: source.height)
        let (left, columns) = Self.part(
            from.x, from.width, of: source.width, within: across, for: width, scale: scaleX)
        let (top, rows) = Self.part(from.y, from.height, of: source.height, within: down, for: height, scale: scaleY)
        self.source = PixelRectangle(x: left, y: top, width: columns, height: rows)
        let unit = Double(program.height)
        radius = min(Self.even(max(0, min(placement.cornerRadius, 0.5)) * unit), min(width, height) / 4 * 2)
        let wanted = max(0, min(placement.border?.width ?? 0, 0.25)) * unit
        border = wanted > 0 ? max(2, Self.even(wanted)) : 0
    }

    /// The nearest even number; what is far outside is far enough at a million.
    private static func even(_ value: Double) -> Int {
        value.isFinite ? Int((min(1e6, max(-1e6, value)) / 2).rounded()) * 2 : 0
    }

    /// A span on even pixels. Where its length is even as it stands, it keeps it wherever it is, so that what moves
    /// does not change its size; else its ends are moved each for itself, so that neighbors meet.
    private static func span(_ start: Double, _ length: Double, of whole: Int) -> (start: Int, length: Int) {
        let (begin, size) = (start * Double(whole), max(0, length) * Double(whole))
        let first = even(begin)
        if abs(Double(even(size)) - size) < 0.01 { return (first, even(size)) }
        return (first, even(begin + size) - first)
    }

    /// The columns or rows of a source that may be seen: an odd last one only if all may.
    private static func limits(_ start: Double, _ length: Double, of whole: Int) -> Range<Int> {
        if start == 0, length == 1 { return 0..<whole }
        let (first, size) = span(start, length, of: whole)
        let end = min(max(2, first + size), whole)
        return min(max(0, first), end - 2)..<end
    }

    /// A part of a source's columns or rows, within `limits`. `scale` is the number by which it is to be divided, before
    /// anything was rounded: where it is whole, the part is made so long that it still is, and what was meant to keep
    /// its size, or to be halved, is not scaled by a crooked number.
    private static func part(
        _ start: Double, _ length: Double, of whole: Int, within limits: Range<Int>, for target: Int, scale: Double
    ) -> (start: Int, length: Int) {
        var (first, size) = span(start, length, of: whole)
        size = min(max(2, size), limits.count)
        let factor = scale.rounded()
        if factor >= 1, factor <= Double(whole), abs(scale - factor) < 0.001 {
            let straight = Int(factor) * target
            if straight >= 2, straight <= limits.count { size = straight }
        }
        first = min(max(limits.lowerBound, first), limits.upperBound - size)
        return (first, size)
    }
}
