// SPDX-License-Identifier: Apache-2.0

internal import Media

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

        /// Creates a shape.
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
