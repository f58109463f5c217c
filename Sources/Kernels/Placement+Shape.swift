// SPDX-License-Identifier: Apache-2.0

internal import Media

extension Placement {
    /// How a source stands whose shape is another than the program's: its frames have bars, which are cut off here.
    package struct Shape: Sendable, Hashable {
        /// What it may take of the program.
        package var area: Rectangle
        /// Whether its middle fills the area, 1, or all of it is seen, 0; anything between in a move.
        package var fill: Double
        /// Where it stands in what is wider than it: from the left edge, 0, to the right one, 1.
        package var across: Double
        /// Where it stands in what is higher than it: from the upper edge, 0, to the lower one, 1.
        package var down: Double
        /// How much of the bars is cut off: all, 1, but in a move from or to a place that shows them.
        private(set) var cut = 1.0

        /// A shape of these.
        package init(area: Rectangle, fill: Double = 0, across: Double = 0.5, down: Double = 0.5) {
            (self.area, self.fill, self.across, self.down) = (area, fill, across, down)
        }

        /// One that cuts nothing off, at the destination of `placement`, on the way from or to `other`.
        private init(uncut placement: Placement, like other: Shape) {
            self = other
            (area, cut) = (placement.destination, 0)
        }

        /// What is `fraction` of the way from the one placement's to the other's.
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

        /// Where a source stands that fills `region` of its frame: what may be seen of the frame, what is, and where.
        func places(of region: Rectangle) -> (limits: Rectangle, source: Rectangle, destination: Rectangle) {
            let limits = Rectangle.all.mixed(with: region, fraction: cut)
            let fitted = area.fitting(aspect: limits.width / limits.height, across: across, down: down)
            let destination = fitted.mixed(with: area, fraction: fill)
            return (limits, limits.fitting(aspect: destination.width / destination.height), destination)
        }
    }
}

extension Placement.Rectangle {
    /// What is `fraction` of the way from it to `other`.
    func mixed(with other: Self, fraction: Double) -> Self {
        func mix(_ a: Double, _ b: Double) -> Double { a + (b - a) * fraction }
        return Self(
            x: mix(x, other.x), y: mix(y, other.y), width: mix(width, other.width), height: mix(height, other.height))
    }

    /// A region of a frame of this size.
    init(_ region: FrameRegion, of size: (width: Int, height: Int)) {
        let (width, height) = (Double(size.width), Double(size.height))
        self.init(
            x: Double(region.x) / width, y: Double(region.y) / height, width: Double(region.width) / width,
            height: Double(region.height) / height)
    }
}
