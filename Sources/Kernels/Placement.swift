// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a source is placed in the program: its visible part, its destination and its border. An animation interpolates
/// between two placements.
///
/// Drawing rounds rectangles to even pixels, so that the four luma samples of a chroma sample stay together. A
/// rectangle may be partly or completely outside the program.
package struct Placement: Sendable, Hashable {
    /// A rectangle in fractions of a frame's width and height.
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

        /// Whether this rectangle and `other` have the same width and the same height.
        func isAsLarge(as other: Rectangle) -> Bool { (width, height) == (other.width, other.height) }

        /// The whole frame.
        package static let all = Rectangle(x: 0, y: 0, width: 1, height: 1)

        /// Returns the largest rectangle inside this one with the aspect ratio `aspect`. Aspect ratios are relative to
        /// that of the whole frame, which is 1. The result is centered by default. `across` moves it between the left
        /// edge (0) and the right edge (1), and `down` between the upper edge (0) and the lower edge (1).
        package func fitting(aspect: Double, across: Double = 0.5, down: Double = 0.5) -> Rectangle {
            let own = width / height
            let (w, h) = aspect < own ? (height * aspect, height) : (width, width / aspect)
            return Rectangle(x: x + (width - w) * across, y: y + (height - h) * down, width: w, height: h)
        }
    }

    /// A colored border outside the edges of the destination.
    package struct Border: Sendable, Hashable {
        /// The border's width as a fraction of the program's height, at most a quarter. A border that is not 0 is at
        /// least two pixels wide.
        package var width: Double
        /// The border's color.
        package var color: PixelColor

        package init(width: Double, color: PixelColor) { (self.width, self.color) = (width, color) }
    }

    /// The visible part of the source.
    package var source: Rectangle
    /// The position and size of the source in the program.
    package var destination: Rectangle
    /// The corner radius of the destination, as a fraction of the program's height, at most half. The corners of a
    /// border are rounded, too.
    package var cornerRadius: Double
    /// The border, if it has one.
    package var border: Border?
    /// How to place frames that contain bars: their bars are cut off. If this value is nil, the bars are visible.
    package var shape: Shape?
    /// Whether this is a placement in the middle of an animation that changes the size. Scaling is then fast instead of
    /// exact; the difference is not visible in motion.
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

    /// Shows the whole source in the lower right corner: a quarter of the program's width, with a margin of a fortieth.
    package static let inset = Placement(destination: .init(x: 0.725, y: 0.725, width: 0.25, height: 0.25))

    /// Returns the placement of a source in one of `count` equal parts of the program. The parts are side by side
    /// (`horizontal`) or one below the other. The middle of the source fills the part; with `fits`, the whole source is
    /// visible in the part.
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

    /// Returns the placement of a source in cell `index` of a grid. Cells are counted row by row from the upper left
    /// corner. The whole source is visible, as large as the cell allows.
    package static func cell(_ index: Int, columns: Int, rows: Int) -> Placement {
        let (width, height) = (1 / Double(columns), 1 / Double(rows))
        let cell = Rectangle(
            x: Double(index % columns) * width, y: Double(index / columns) * height, width: width, height: height)
        return Placement(destination: cell.fitting(aspect: 1), shape: Shape(area: cell))
    }

    /// Returns the placement at `fraction` of the way from this one to `other`. If only one of them has a border, the
    /// border grows from nothing or shrinks to nothing.
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

/// A placement whose rectangles are in pixels.
struct PixelPlacement: Equatable {
    /// The visible part of the source. All numbers are even.
    var source: PixelRectangle
    /// The position and size of the source in the program. All numbers are even.
    var destination: PixelRectangle
    /// Corner radius of `destination`; even, and at most half of a side.
    var radius: Int
    /// Width of the border; even.
    var border: Int

    /// The rectangle of the destination with its border.
    var outer: PixelRectangle { destination.grown(by: border) }
    /// Corner radius of ``outer``.
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

    /// The even number nearest to `value`, limited to ±1 million.
    private static func even(_ value: Double) -> Int {
        value.isFinite ? Int((min(1e6, max(-1e6, value)) / 2).rounded()) * 2 : 0
    }

    /// Rounds a span of columns or rows to even pixels. A length that is even before rounding stays the same at any
    /// position, so that moving objects do not change their size. For any other length, each end is rounded separately,
    /// so that neighbors touch.
    private static func span(_ start: Double, _ length: Double, of whole: Int) -> (start: Int, length: Int) {
        let (begin, size) = (start * Double(whole), max(0, length) * Double(whole))
        let first = even(begin)
        if abs(Double(even(size)) - size) < 0.01 { return (first, even(size)) }
        return (first, even(begin + size) - first)
    }

    /// Returns the columns or rows of a source that may be visible. If the source has an odd number of them, the last
    /// one is included only if the whole source may be visible.
    private static func limits(_ start: Double, _ length: Double, of whole: Int) -> Range<Int> {
        if start == 0, length == 1 { return 0..<whole }
        let (first, size) = span(start, length, of: whole)
        let end = min(max(2, first + size), whole)
        return min(max(0, first), end - 2)..<end
    }

    /// Returns the visible columns or rows of a source, within `limits`. `scale` is the number of source samples for
    /// each target sample before rounding. If `scale` is an integer, the length is adjusted so that it stays this
    /// integer: a source at full or half size is then scaled by exactly that factor.
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
    /// How to place a source whose aspect ratio differs from the program's. The frames of such a source contain bars,
    /// and a shape cuts the bars off.
    package struct Shape: Sendable, Hashable {
        /// The part of the program that the source may use.
        package var area: Rectangle
        /// How far the source fills the area. At 1 the middle of the source fills the area. At 0 the whole source is
        /// visible. Values in between occur during a move.
        package var fill: Double
        /// Horizontal position in an area that is wider than the source: 0 is the left edge, 1 the right edge.
        package var across: Double
        /// Vertical position in an area that is higher than the source: 0 is the upper edge, 1 the lower edge.
        package var down: Double
        /// How much of the bars is cut off: 1 means all. The value is less than 1 only during a move from or to a
        /// placement that shows the bars.
        private(set) var cut = 1.0

        package init(area: Rectangle, fill: Double = 0, across: Double = 0.5, down: Double = 0.5) {
            (self.area, self.fill, self.across, self.down) = (area, fill, across, down)
        }

        /// Creates a shape that cuts nothing off and has the destination of `placement`. A move between a placement
        /// without a shape and one with the shape `other` uses the created shape for the end without a shape.
        private init(uncut placement: Placement, like other: Shape) {
            self = other
            (area, cut) = (placement.destination, 0)
        }

        /// Returns the shape at `fraction` of the way between two placements; nil if neither of them has a shape, or if
        /// nothing is cut off at this point.
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

        /// Returns the placement of a source whose video fills only `region` of its frame. `limits` is the part of the
        /// frame that may be visible, `source` is the part that is visible, and `destination` is its place in the
        /// program.
        func places(of region: Rectangle) -> (limits: Rectangle, source: Rectangle, destination: Rectangle) {
            let limits = Rectangle.all.mixed(with: region, fraction: cut)
            let fitted = area.fitting(aspect: limits.width / limits.height, across: across, down: down)
            let destination = fitted.mixed(with: area, fraction: fill)
            return (limits, limits.fitting(aspect: destination.width / destination.height), destination)
        }
    }
}

extension Placement.Rectangle {
    /// Returns the rectangle at `fraction` of the way to `other`.
    func mixed(with other: Self, fraction: Double) -> Self {
        func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * fraction }
        return Self(
            x: mix(x, other.x), y: mix(y, other.y), width: mix(width, other.width), height: mix(height, other.height))
    }

    /// Converts a region of a frame of this size to fractions.
    init(_ region: FrameRegion, of size: (width: Int, height: Int)) {
        let (width, height) = (Double(size.width), Double(size.height))
        self.init(
            x: Double(region.x) / width, y: Double(region.y) / height, width: Double(region.width) / width,
            height: Double(region.height) / height)
    }
}
