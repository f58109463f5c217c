// SPDX-License-Identifier: Apache-2.0

internal import Kernels

extension SceneLayout {
    /// The placement of the second source of ``Kind/pip``: its upper left corner and its width, as fractions of the
    /// frame.
    package struct Inset: Sendable, Codable, Equatable {
        package var x: Double
        package var y: Double
        package var width: Double

        /// A quarter of the frame's width, at a distance of a fortieth of the frame from its lower right corner.
        package static let standard = Inset(x: 0.725, y: 0.725, width: 0.25)

        /// An inset at this position.
        package init(x: Double, y: Double, width: Double) { (self.x, self.y, self.width) = (x, y, width) }

        /// An inset with this width in a corner, at a distance of a fortieth of the frame from its edges.
        package init(_ corner: Corner, width: Double = 0.25) {
            let (near, far) = (Corner.margin, 1 - Corner.margin - width)
            self.init(x: corner.isRight ? far : near, y: corner.isLow ? far : near, width: width)
        }

        /// How a source with another aspect ratio is placed in the inset: the whole source is visible, aligned to the
        /// nearest corner of the frame.
        var shape: Placement.Shape {
            let way = 1 - width - 2 * Corner.margin
            func part(_ start: Double) -> Double { way > 0 ? min(1, max(0, (start - Corner.margin) / way)) : 0.5 }
            return Placement.Shape(area: .init(x: x, y: y, width: width, height: width), across: part(x), down: part(y))
        }

        /// Creates an inset from the values that users write: a corner, or `x` and `y`; if a coordinate is missing, it
        /// has its standard value. Throws if both a corner and coordinates are given.
        package init(corner: Corner?, x: Double?, y: Double?, width: Double?) throws(Fault) {
            guard let corner else {
                let usual = Self.standard
                self.init(x: x ?? usual.x, y: y ?? usual.y, width: width ?? usual.width)
                return
            }
            if x != nil || y != nil {
                throw Fault(description: "An inset has a corner or x and y: leave one of them out.")
            }
            self.init(corner, width: width ?? 0.25)
        }
    }

    /// A corner of the frame.
    package enum Corner: String, Sendable, Codable, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"

        fileprivate static let margin = 0.025
        fileprivate var isRight: Bool { self == .topRight || self == .bottomRight }
        fileprivate var isLow: Bool { self == .bottomLeft || self == .bottomRight }
    }
}

extension SceneLayout.Inset {
    private enum Key: String, CodingKey, CaseIterable { case corner, x, y, width }

    /// The keys that users may use.
    package static var keys: [String] { Key.allCases.map(\.rawValue) }

    /// Reads `x`, `y` and `width`, or `corner` and, if it is not a quarter, `width`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        guard let corner = try container.decodeIfPresent(SceneLayout.Corner.self, forKey: .corner) else {
            self.init(
                x: try container.decode(Double.self, forKey: .x), y: try container.decode(Double.self, forKey: .y),
                width: try container.decode(Double.self, forKey: .width))
            return
        }
        try self.init(
            corner: corner, x: container.decodeIfPresent(Double.self, forKey: .x),
            y: container.decodeIfPresent(Double.self, forKey: .y),
            width: container.decodeIfPresent(Double.self, forKey: .width))
    }
}
