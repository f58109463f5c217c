// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a source is placed in the program: its visible part, its destination and its border. Animations interpolate this
/// value.
///
/// Drawing rounds rectangles to even pixels, so that a chroma sample belongs to the same four pixels before and after.
/// A rectangle may be partly or wholly outside the program.
package struct Placement: Sendable, Hashable {
    /// A rectangle in fractions of width and height.
    package struct Rectangle: Sendable, Hashable, Codable {
        /// The left edge.
        package var x: Double
        /// The upper edge.
        package var y: Double
        /// The width.
        package var width: Double
        /// The height.
        package var height: Double

        package init(x: Double, y: Double, width: Double, height: Double) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }

        /// Whether both have the same width and height.
        func isAsLarge(as other: Rectangle) -> Bool { (width, height) == (other.width, other.height) }

        /// The full width and height.
        package static let all = Rectangle(x: 0, y: 0, width: 1, height: 1)

        /// The largest part with the aspect ratio `aspect`, relative to the aspect ratio of the whole. It is centered
        /// by default; `across` positions it between the left edge (0) and the right edge (1), `down` between the upper
        /// edge and the lower edge.
        package func fitting(aspect: Double, across: Double = 0.5, down: Double = 0.5) -> Rectangle {
            let own = width / height
            let (w, h) = aspect < own ? (height * aspect, height) : (width, width / aspect)
            return Rectangle(x: x + (width - w) * across, y: y + (height - h) * down, width: w, height: h)
        }
    }

    /// A colored border around the destination, outside of it.
    package struct Border: Sendable, Hashable {
        /// Its width as a fraction of the program's height, at most a quarter. If it is not 0, the border is at least
        /// two pixels wide.
        package var width: Double
        /// Its color.
        package var color: PixelColor

        package init(width: Double, color: PixelColor) { (self.width, self.color) = (width, color) }
    }

    /// The visible part of the source.
    package var source: Rectangle
    /// Its position in the program.
    package var destination: Rectangle
    /// The radius of its corners as a fraction of the program's height, at most half. A border has the same corners.
    package var cornerRadius: Double
    /// The border, if it has one.
    package var border: Border?
    /// How to place frames whose bars are cut off; nil shows frames with their bars.
    package var shape: Shape?
    /// Whether the size changes in an animation. Scaling is then fast instead of exact; the difference is not visible
    /// in motion.
    var isResizing = false

    package init(
        source: Rectangle = .all, destination: Rectangle = .all, cornerRadius: Double = 0, border: Border? = nil,
        shape: Shape? = nil
    ) {
        (self.source, self.destination) = (source, destination)
        (self.cornerRadius, self.border, self.shape) = (cornerRadius, border, shape)
    }

    /// The whole source fills the whole program.
    package static let full = Placement()

    /// The whole source in the lower right corner: a quarter of the width, with a margin of a fortieth.
    package static let inset = Placement(destination: .init(x: 0.725, y: 0.725, width: 0.25, height: 0.25))

    /// One of `count` parts side by side (`horizontal`) or one below the other. The middle of the source fills the
    /// part; with `fits`, the whole source is visible in the part.
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

    /// A cell of a grid, counted row by row from the upper left corner. The whole source is visible, as large as the
    /// cell allows.
    package static func cell(_ index: Int, columns: Int, rows: Int) -> Placement {
        let (width, height) = (1 / Double(columns), 1 / Double(rows))
        let cell = Rectangle(
            x: Double(index % columns) * width, y: Double(index / columns) * height, width: width, height: height)
        return Placement(destination: cell.fitting(aspect: 1), shape: Shape(area: cell))
    }

    /// The placement at `fraction` of the way from this one to `other`. If only one of them has a border, the border
    /// grows from nothing or shrinks to nothing.
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
    /// The visible part of the source. All numbers are even.
    var source: PixelRectangle
    /// Its position in the program. All numbers are even.
    var destination: PixelRectangle
    /// Radius of the corners of `destination`; even, and at most half of a side.
    var radius: Int
    /// Width of the border; even.
    var border: Int

    /// The border's outer edge.
    var outer: PixelRectangle { destination.grown(by: border) }
    /// Radius of the corners of the border's outer edge.
    var outerRadius: Int { radius == 0 ? 0 : radius + border }

    /// Converts the placement of `frame` in a program of this size.
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
        let (left, columns) = Self.part(from.x, from.width, of: source.width, within: across, for: width, scale: scaleX)
        let (top, rows) = Self.part(from.y, from.height, of: source.height, within: down, for: height, scale: scaleY)
        self.source = PixelRectangle(x: left, y: top, width: columns, height: rows)
        let unit = Double(program.height)
        radius = min(Self.even(max(0, min(placement.cornerRadius, 0.5)) * unit), min(width, height) / 4 * 2)
        let wanted = max(0, min(placement.border?.width ?? 0, 0.25)) * unit
        border = wanted > 0 ? max(2, Self.even(wanted)) : 0
    }

    /// The nearest even number, limited to ±1 million.
    private static func even(_ value: Double) -> Int {
        value.isFinite ? Int((min(1e6, max(-1e6, value)) / 2).rounded()) * 2 : 0
    }

    /// A span that begins and ends on even pixels. If its length is even before rounding, it keeps that length at any
    /// position, so that moving objects do not change size; otherwise each end is rounded separately, so that neighbors
    /// touch.
    private static func span(_ start: Double, _ length: Double, of whole: Int) -> (start: Int, length: Int) {
        let (begin, size) = (start * Double(whole), max(0, length) * Double(whole))
        let first = even(begin)
        if abs(Double(even(size)) - size) < 0.01 { return (first, even(size)) }
        return (first, even(begin + size) - first)
    }

    /// The columns or rows of a source that may be visible. If their number is odd, the last one is included only if
    /// all may be visible.
    private static func limits(_ start: Double, _ length: Double, of whole: Int) -> Range<Int> {
        if start == 0, length == 1 { return 0..<whole }
        let (first, size) = span(start, length, of: whole)
        let end = min(max(2, first + size), whole)
        return min(max(0, first), end - 2)..<end
    }

    /// A span of a source's columns or rows, within `limits`. `scale` is the scaling factor before rounding. If it is
    /// an integer, the span's length is adjusted so that it remains one: a source at its own size, or at half of it, is
    /// then scaled by exactly that factor.
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

extension Placement {
    /// How to place a source whose aspect ratio differs from the program's. The frames of such a source have bars,
    /// which are cut off here.
    package struct Shape: Sendable, Hashable {
        /// The part of the program that the source may use.
        package var area: Rectangle
        /// How far the source fills the area. 1: the middle of the source fills the area; 0: the whole source is
        /// visible; values in between occur during a move.
        package var fill: Double
        /// Horizontal position in an area that is wider than the source: 0 is the left edge, 1 the right edge.
        package var across: Double
        /// Vertical position in an area that is higher than the source: 0 is the upper edge, 1 the lower edge.
        package var down: Double
        /// How much of the bars is cut off: 1 means all. It is less only during a move from or to a placement that
        /// shows the bars.
        private(set) var cut = 1.0

        package init(area: Rectangle, fill: Double = 0, across: Double = 0.5, down: Double = 0.5) {
            (self.area, self.fill, self.across, self.down) = (area, fill, across, down)
        }

        /// Creates a shape that cuts nothing off and has the destination of `placement`. It is one end of a move;
        /// `other` is the shape at the other end.
        private init(uncut placement: Placement, like other: Shape) {
            self = other
            (area, cut) = (placement.destination, 0)
        }

        /// The shape at `fraction` of the way between two placements.
        static func between(_ from: Placement, _ to: Placement, fraction: Double) -> Shape? {
            guard let start = from.shape ?? to.shape.map({ Shape(uncut: from, like: $0) }),
                let end = to.shape ?? from.shape.map({ Shape(uncut: to, like: $0) })
            else { return nil }
            func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * fraction }
            var shape = Shape(
                area: start.area.mixed(with: end.area, fraction: fraction), fill: mix(start.fill, end.fill),
                across: mix(start.across, end.across), down: mix(start.down, end.down))
            shape.cut = mix(start.cut, end.cut)
            return shape.cut == 0 ? nil : shape
        }

        /// The placement of a source whose media fills `region` of its frame: the part of the frame that may be
        /// visible, the part that is visible, and the destination.
        func places(of region: Rectangle) -> (limits: Rectangle, source: Rectangle, destination: Rectangle) {
            let limits = Rectangle.all.mixed(with: region, fraction: cut)
            let fitted = area.fitting(aspect: limits.width / limits.height, across: across, down: down)
            let destination = fitted.mixed(with: area, fraction: fill)
            return (limits, limits.fitting(aspect: destination.width / destination.height), destination)
        }
    }
}

extension Placement.Rectangle {
    /// The rectangle at `fraction` of the way to `other`.
    func mixed(with other: Self, fraction: Double) -> Self {
        func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * fraction }
        return Self(
            x: mix(x, other.x), y: mix(y, other.y), width: mix(width, other.width), height: mix(height, other.height))
    }

    /// Converts a region of a frame of this size.
    init(_ region: FrameRegion, of size: (width: Int, height: Int)) {
        let (width, height) = (Double(size.width), Double(size.height))
        self.init(
            x: Double(region.x) / width, y: Double(region.y) / height, width: Double(region.width) / width,
            height: Double(region.height) / height)
    }
}
